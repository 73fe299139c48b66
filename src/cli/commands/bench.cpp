// wavefill bench: how fast attention is at given batches, and how near the memory's own speed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "cli/bench_compare.h"
#include "cli/bench_run.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/number_list.h"
#include "cli/setting_options.h"
#include "cli/shape_options.h"
#include "cli/units.h"
#include "cli/workbench_options.h"
#include "core/errors.h"
#include "report/escape.h"
#include "report/text_table.h"

namespace wavefill::cli {
namespace {

constexpr const char* kDefaultBatches = "1,8,64";

struct BenchOptions {
  DeviceOptions device;
  ShapeOptions shape;
  SettingOptions settings;
  std::string batches;  // empty: those of the base, or kDefaultBatches
  std::string budget = "5s";
  std::string csv;
  std::string compare;  // the base; empty: none
  std::string max_loss = "2%";
  std::string junit;
  bool count_contaminated = false;
  bool json = false;
};

struct Figures {
  std::string title;
  BenchResult result;
  Bandwidth bandwidth;
  std::optional<BenchComparison> comparison = {};

  double share_of_copy(const BenchRow& row) const { return row.gbps / bandwidth.copy_gbps; }
};

Result<std::vector<std::int32_t>> read_batches(const BenchOptions& options,
                                               const std::optional<BenchBase>& base) {
  if (!options.batches.empty()) return parse_batch_list("--batch", options.batches);
  if (!base) return parse_batch_list("--batch", kDefaultBatches);
  std::set<std::int32_t> batches;
  for (const BenchBase::Row& row : base->rows) batches.insert(row.batch);
  return std::vector<std::int32_t>(batches.begin(), batches.end());
}

Result<BenchRequest> read_request(const BenchOptions& options, const std::optional<BenchBase>& base,
                                  const DecodeShape& shape, std::int64_t slots) {
  BenchRequest request;
  request.shape = shape;
  Result<std::vector<std::int32_t>> batches = read_batches(options, base);
  if (!batches.ok()) return batches.status();
  request.batches = *std::move(batches);
  const Result<std::int64_t> budget_s = parse_duration_s("--budget", options.budget);
  if (!budget_s.ok()) return budget_s.status();
  request.budget_us = static_cast<double>(*budget_s) * 1e6;
  Result<std::vector<Setting>> settings = read_settings(options.settings, slots);
  if (!settings.ok()) return settings.status();
  request.settings = *std::move(settings);
  request.count_contaminated = options.count_contaminated;
  return request;
}

std::string csv_of(const Figures& figures) {
  std::string csv =
      "batch,setting,num_splits,num_waves,us,us_low,us_high,tokens_per_s,gbps,share_of_copy,samples,"
      "verified\n";
  for (const BenchRow& row : figures.result.rows) {
    csv += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.1f},{:.3f},{:.4f},{},{}\n", row.batch,
                       report::csv_escaped(row.setting), row.waves.num_splits, row.waves.num_waves, row.us,
                       row.interval_us.low, row.interval_us.high, row.tokens_per_s, row.gbps,
                       figures.share_of_copy(row), row.samples_us.size(), row.verified.passed ? 1 : 0);
  }
  return csv;
}

Json json_of(const BenchRow& row, const Figures& figures) {
  return {{"batch", row.batch},
          {"setting", row.setting},
          {"num_splits", row.waves.num_splits},
          {"num_ctas", row.waves.num_ctas},
          {"num_waves", row.waves.num_waves},
          {"wave_efficiency", rounded(row.waves.wave_efficiency, 3)},
          {"us", row.us},
          {"us_low", row.interval_us.low},
          {"us_high", row.interval_us.high},
          {"tokens_per_s", row.tokens_per_s},
          {"gbps", row.gbps},
          {"share_of_copy", figures.share_of_copy(row)},
          {"samples_us", row.samples_us},
          {"stopped_by", row.stopped_by},
          {"rounds", row.rounds},
          {"contaminated_rounds", row.contaminated_rounds},
          {"cache_state", row.cache_state},
          {"verified", row.verified.passed},
          {"max_o_error", row.verified.max_o_error},
          {"failure", row.verified.message}};
}

Json document(const Figures& figures) {
  Json rows = Json::array();
  for (const BenchRow& row : figures.result.rows) rows.push_back(json_of(row, figures));
  Json json = {{"title", figures.title},
               {"device", figures.result.device.name},
               {"kernel", figures.result.kernel.name},
               {"slots", num_slots(figures.result.device, figures.result.kernel)},
               {"timing", figures.result.timing},
               {"copy_gbps", figures.bandwidth.copy_gbps},
               {"read_gbps", figures.bandwidth.read_gbps},
               {"results", std::move(rows)}};
  if (figures.comparison) json["comparison"] = document(*figures.comparison);
  return json;
}

std::vector<report::Cell> table_row(const BenchRow& row, const Figures& figures) {
  if (row.samples_us.empty()) {
    return {std::to_string(row.batch), row.setting, std::to_string(row.waves.num_splits),
            std::to_string(row.waves.num_waves),
            report::Cell(row.verified.passed ? "no clean sample" : "output wrong", report::Tone::bad)};
  }
  const double half_width = (row.interval_us.high - row.interval_us.low) / 2 / row.us;
  return {std::to_string(row.batch),
          row.setting,
          std::to_string(row.waves.num_splits),
          std::to_string(row.waves.num_waves),
          fmt::format("{:.1f}", row.us),
          fmt::format("{:.1f}%", half_width * 100),
          fmt::format("{:.0f}", row.tokens_per_s),
          fmt::format("{:.2f}", row.gbps),
          fmt::format("{:.1f}%", figures.share_of_copy(row) * 100),
          std::to_string(row.samples_us.size())};
}

std::string text_of(const Figures& figures, const report::TerminalStyle& style) {
  using report::Align;
  const BenchResult& result = figures.result;
  report::TextTable table({{"batch"},
                           {"setting", Align::left},
                           {"splits"},
                           {"waves"},
                           {"us"},
                           {"+-"},
                           {"tokens/s"},
                           {"GB/s"},
                           {"of copy"},
                           {"samples"}});
  std::int64_t dropped = 0;
  std::string reason;
  for (const BenchRow& row : result.rows) {
    table.add_row(table_row(row, figures));
    dropped += row.contaminated_rounds;
    if (row.contaminated_rounds > 0) reason = row.contamination;
  }
  std::string text = fmt::format(
      "{} on {} ({}, {} slots)\n{}\ncopy bandwidth of this device: {:.1f} GB/s\n\n", figures.title,
      result.device.name, result.kernel.name, num_slots(result.device, result.kernel),
      result.rows.empty() ? result.timing : result.timing + ", " + result.rows.back().cache_state,
      figures.bandwidth.copy_gbps);
  text += table.render(style);
  if (dropped > 0)
    text += fmt::format("\nrounds in which something else used the machine: {} ({})\n", dropped, reason);
  for (const BenchRow& row : result.rows) {
    if (!row.verified.passed) {
      text +=
          fmt::format("\nwrong output of {} at batch {}: {}\n", row.setting, row.batch, row.verified.message);
    }
  }
  if (figures.comparison) text += text_of(*figures.comparison, style);
  return text;
}

bool all_measured(const BenchResult& result) {
  return std::ranges::none_of(result.rows, [](const BenchRow& row) { return row.samples_us.empty(); });
}

// Read before anything is measured: a wrong file should not cost the time of a run.
Result<std::optional<BenchBase>> read_base(const BenchOptions& options) {
  if (options.compare.empty()) {
    if (!options.junit.empty())
      return invalid_argument("--junit is given without --compare; allowed: only with it");
    return std::optional<BenchBase>();
  }
  if (!options.junit.empty()) WAVEFILL_RETURN_IF_ERROR(check_writable("--junit", options.junit));
  Result<BenchBase> base = read_bench_base(options.compare);
  if (!base.ok()) return base.status();
  return std::optional<BenchBase>(*std::move(base));
}

Status add_comparison(const BenchBase& base, double max_loss, const BenchOptions& options, Figures& figures) {
  const CompareScope scope{
      .names_batches = !options.batches.empty(),
      .names_settings = !options.settings.policies.empty() || !options.settings.profile.empty()};
  Result<BenchComparison> comparison =
      compare_with_base(base, figures.title, figures.result, max_loss, scope);
  if (!comparison.ok()) return comparison.status();
  figures.comparison = *std::move(comparison);
  return options.junit.empty() ? Status{} : write_file(options.junit, junit_of(*figures.comparison));
}

Result<ExitCode> run(const BenchOptions& options, Console& console) {
  const Result<NamedShape> named = read_shape(options.shape);
  if (!named.ok()) return named.status();
  if (!options.csv.empty()) WAVEFILL_RETURN_IF_ERROR(check_writable("--csv", options.csv));
  const Result<std::optional<BenchBase>> base = read_base(options);
  if (!base.ok()) return base.status();
  const Result<double> max_loss = parse_percent("--max-loss", options.max_loss);
  if (!max_loss.ok()) return max_loss.status();
  const Result<std::unique_ptr<Workbench>> workbench = open_workbench(options.device);
  if (!workbench.ok()) return workbench.status();
  const Result<KernelSpec> kernel = (*workbench)->kernel_for(named->shape);
  if (!kernel.ok()) return kernel.status();
  const Result<BenchRequest> request =
      read_request(options, *base, named->shape, num_slots((*workbench)->device(), *kernel));
  if (!request.ok()) return request.status();

  console.progress("measuring the copy bandwidth", 0.0);
  const Result<Bandwidth> bandwidth = (*workbench)->bandwidth();
  if (!bandwidth.ok()) return bandwidth.status();
  const InterruptGuard guard;
  ConsoleProgress progress(console);
  Result<BenchResult> result = run_bench(*request, **workbench, progress);
  if (!result.ok()) return result.status();
  if (result->cancelled) return make_status(StatusCode::unavailable, "interrupted");

  Figures figures{.title = named->title, .result = *std::move(result), .bandwidth = *bandwidth};
  if (!options.csv.empty()) WAVEFILL_RETURN_IF_ERROR(write_file(options.csv, csv_of(figures)));
  if (*base) WAVEFILL_RETURN_IF_ERROR(add_comparison(**base, *max_loss, options, figures));
  console.print(options.json ? json_text(document(figures)) : text_of(figures, console.style()));
  const bool fails = figures.comparison && figures.comparison->fails();
  return all_measured(figures.result) && !fails ? ExitCode::ok : ExitCode::no;
}

}  // namespace

Action define_bench(OptionSet& set) {
  const auto options = std::make_shared<BenchOptions>();
  add_device_options(set, options->device);
  add_kernel_option(set, options->device);
  add_shape_options(set, options->shape);
  set.begin_group("Options");
  set.text(
      "--batch", options->batches, "LIST",
      fmt::format("batch sizes: 1-16 or 1,8-64:8 (default {}; with --compare: the base's)", kDefaultBatches));
  add_setting_options(set, options->settings);
  set.text("--budget", options->budget, "TIME", "time for each batch size, in s or m");
  set.text("--csv", options->csv, "FILE", "write the table as CSV too");
  set.text("--compare", options->compare, "FILE",
           "what an earlier bench --json wrote: exit code 1 if something of it is slower now, or missing");
  set.text("--max-loss", options->max_loss, "PERCENT", "a loss of throughput up to this is no regression");
  set.text("--junit", options->junit, "FILE", "write the comparison as JUnit XML");
  set.flag("--count-contaminated", options->count_contaminated,
           "use rounds too in which something else used the machine");
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
