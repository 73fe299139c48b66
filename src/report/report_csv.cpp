// One row a setting and batch, for spreadsheets.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/report.h"

namespace wavefill::report {

std::string to_csv(const Report& report) {
  std::string csv =
      "batch,setting,chosen,deployed,num_splits,num_ctas,num_waves,wave_efficiency,us,us_low,us_high,"
      "tokens_per_s,effect,effect_low,effect_high,verdict,samples,verified,max_o_error,stopped_by,predicted_"
      "us,fitted_us,out_of_sample_us\n";
  for (const Batch& batch : report.batches) {
    for (const Arm& arm : batch.arms) {
      csv += fmt::format(
          "{},{},{},{},{},{},{},{:.4f},{:.3f},{:.3f},{:.3f},{:.1f},{:.5f},{:.5f},{:.5f},{},{},{},{:.3g},{},{:"
          ".3f},{:.3f}\n",
          batch.batch, csv_escaped(arm.setting), &arm == &batch.chosen() ? 1 : 0,
          &arm == &batch.deployed() ? 1 : 0, arm.num_splits, arm.num_ctas, arm.num_waves, arm.wave_efficiency,
          arm.us.value, arm.us.low, arm.us.high, arm.tokens_per_s.value, arm.effect.value, arm.effect.low,
          arm.effect.high, arm.verdict, arm.samples_us.size(), arm.verified ? 1 : 0, arm.max_o_error,
          arm.stopped_by, arm.predicted_us, arm.fitted_us, arm.out_of_sample_us);
    }
  }
  return csv;
}

}  // namespace wavefill::report
