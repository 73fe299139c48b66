#include "cli/tune_run.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/ledger_option.h"
#include "cli/shell_quoted.h"
#include "cli/workbench_options.h"
#include "core/errors.h"

namespace wavefill::cli {
namespace {

Status check_all_outputs(const OutputPaths& given, std::span<const ShapeRun> runs) {
  WAVEFILL_RETURN_IF_ERROR(check_outputs(given));
  if (runs.size() == 1) return {};
  for (const ShapeRun& run : runs) {
    // Only the directory that the user names has to be there.
    if (!given.figures.empty()) WAVEFILL_RETURN_IF_ERROR(make_parent_directories(run.paths.figures + "/"));
    WAVEFILL_RETURN_IF_ERROR(check_outputs(run.paths));
  }
  return {};
}

// The options that leave `runs`, the last of several, to be tuned. One alone would have plain file names.
std::string options_for(std::span<const ShapeRun> runs) {
  std::string degrees;
  for (const ShapeRun& run : runs) degrees += fmt::format("{}{}", degrees.empty() ? "" : ",", run.named.tp);
  std::string text = "--tp " + degrees;
  if (runs.size() > 1) return text;
  const OutputPaths& paths = runs.front().paths;
  for (const auto& [option, path] :
       {std::pair{"--out", paths.profile}, std::pair{"--report", paths.report}, std::pair{"--csv", paths.csv},
        std::pair{"--junit", paths.junit}, std::pair{"--figures", paths.figures}}) {
    if (!path.empty()) text += fmt::format(" {} {}", option, shell_quoted(path));
  }
  return text;
}

// A finished run is not continued, so the same command would tune its shape again.
void report_interruption(std::span<const ShapeRun> runs, std::size_t finished, RunId run, Console& console) {
  console.end_progress();
  console.note(fmt::format("wavefill: interrupted; what was measured is kept as run {} of {}", run,
                           runs[finished].paths.ledger));
  if (finished == 0) return console.note("to go on where it stopped: " + console.command_line());
  console.note(fmt::format("finished and written: {} of {} shapes, which the same command would tune again",
                           finished, runs.size()));
  console.note("to go on where it stopped: the same command with " + options_for(runs.subspan(finished)));
}

}  // namespace

Result<Ledger> prepare_outputs(const OutputPaths& given, std::span<ShapeRun> runs) {
  WAVEFILL_RETURN_IF_ERROR(check_all_outputs(given, runs));
  std::string path = given.ledger;
  Result<Ledger> ledger = open_ledger(path);
  for (ShapeRun& run : runs) run.paths.ledger = path;
  return ledger;
}

Status check_kernels(const Workbench& workbench, std::span<const ShapeRun> runs) {
  for (const ShapeRun& run : runs) {
    for (const std::int32_t batch : run.request.batches) {
      DecodeShape shape = run.request.shape;
      shape.batch = batch;
      const Result<KernelSpec> kernel = workbench.kernel_for(shape);
      if (!kernel.ok()) return kernel.status();
    }
  }
  return {};
}

Result<std::vector<TunedShape>> tune_shapes(std::span<const ShapeRun> runs, Workbench& workbench,
                                            Ledger& ledger, Console& console) {
  const InterruptGuard guard;
  ConsoleProgress progress(console);
  std::vector<TunedShape> tuned;
  for (const auto& [named, request, paths] : runs) {
    if (runs.size() > 1) {
      console.note(fmt::format("{}: shape {} of {}", named.title, tuned.size() + 1, runs.size()));
    }
    Result<TuneResult> result = tune(request, workbench, ledger, progress);
    if (!result.ok()) return result.status();
    console.end_progress();
    if (result->cancelled) {
      report_interruption(runs, tuned.size(), result->run, console);
      break;
    }
    report::Report report =
        report::make_report(request, *result, {.title = named.title, .created_unix_us = unix_time_us()});
    tuned.push_back({named.tp, paths, *std::move(result), std::move(report)});
    WAVEFILL_RETURN_IF_ERROR(write_outputs(tuned.back()));
  }
  return tuned;
}

}  // namespace wavefill::cli
