// wavefill tune: measures which split setting serves each batch size best, decides, and writes a profile;
// shape by shape, where --tp names several.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/ledger_option.h"
#include "cli/number_list.h"
#include "cli/shape_options.h"
#include "cli/tune_output.h"
#include "cli/tune_run.h"
#include "cli/workbench_options.h"
#include "cli/workload.h"
#include "core/errors.h"
#include "core/parse.h"
#include "ledger/ledger.h"
#include "runtime/overrides.h"

namespace wavefill::cli {
namespace {

struct TuneOptions {
  DeviceOptions device;
  ShapeOptions shape;
  std::string batches;
  std::string budget = "60s";
  std::string deployed;
  std::vector<std::string> also;
  std::string workload;
  std::string seed = "1";
  OutputPaths paths;
  bool no_resume = false;
  bool allow_warm = false;
  bool count_contaminated = false;
  bool json = false;
};

// A measured setting cannot be what others are compared with, nor one of them: its entries are settings.
Result<Setting> parse_plain_setting(std::string_view option, const std::string& text) {
  const Result<Setting> setting = parse_setting(text);
  if (!setting.ok())
    return Status(setting.status().code(), fmt::format("{}: {}", option, setting.status().message()));
  if (setting->kind == PolicyKind::measured) {
    return invalid_argument("{} is {}; allowed: any policy but measured", option, quote_text(text));
  }
  return *setting;
}

// --deployed, else what the environment deploys, else what the library does if nobody says anything.
Result<Setting> read_deployed(const std::string& text) {
  if (!text.empty()) return parse_plain_setting("--deployed", text);
  const Result<std::optional<Setting>> overridden = setting_from_environment(lookup_environment);
  if (!overridden.ok()) return overridden.status();
  if (!*overridden) return Setting{};
  if ((*overridden)->kind == PolicyKind::measured) {
    return invalid_argument("{} deploys a profile; name the setting to compare with by --deployed",
                            kProfileVariable);
  }
  return **overridden;
}

Result<TuneRequest> read_request(const TuneOptions& options, const DecodeShape& shape,
                                 const std::string& command_line) {
  TuneRequest request;
  request.command = command_line;
  request.shape = shape;
  Result<std::vector<std::int32_t>> batches = parse_batch_list("--batch", options.batches);
  if (!batches.ok()) return batches.status();
  request.batches = *std::move(batches);
  const Result<std::int64_t> budget_s = parse_duration_s("--budget", options.budget);
  if (!budget_s.ok()) return budget_s.status();
  request.budget_us = static_cast<double>(*budget_s) * 1e6;
  const Result<std::int64_t> seed = parse_integer("--seed", options.seed, 1, INT64_MAX);
  if (!seed.ok()) return seed.status();
  request.seed = static_cast<std::uint64_t>(*seed);
  Result<Setting> deployed = read_deployed(options.deployed);
  if (!deployed.ok()) return deployed.status();
  request.deployed = *std::move(deployed);
  for (const std::string& text : options.also) {
    Result<Setting> setting = parse_plain_setting("--also", text);
    if (!setting.ok()) return setting.status();
    request.also.push_back(*std::move(setting));
  }
  Result<std::vector<WorkloadWeight>> workload = read_workload(options.workload, request.batches);
  if (!workload.ok()) return workload.status();
  request.workload = *std::move(workload);
  request.resume = !options.no_resume;
  request.allow_warm = options.allow_warm;
  request.count_contaminated = options.count_contaminated;
  WAVEFILL_RETURN_IF_ERROR(validate(request));
  return request;
}

Result<std::vector<ShapeRun>> read_runs(const TuneOptions& options, const std::string& command_line) {
  const Result<std::vector<NamedShape>> shapes = read_shapes(options.shape);
  if (!shapes.ok()) return shapes.status();
  std::vector<ShapeRun> runs;
  for (const NamedShape& named : *shapes) {
    Result<TuneRequest> request = read_request(options, named.shape, command_line);
    if (!request.ok()) return request.status();
    runs.push_back({.named = named,
                    .request = *std::move(request),
                    .paths = shapes->size() == 1 ? options.paths : paths_of_degree(options.paths, named.tp)});
  }
  return runs;
}

// `tuned`: a shape, or those of a list that Ctrl-C has left.
template <typename Tuned>
std::string outcome_text(const Tuned& tuned, bool json, const Console& console) {
  return json ? json_text(tune_document(tuned)) : tune_text(tuned, console.style());
}

Result<ExitCode> run(const TuneOptions& options, Console& console) {
  Result<std::vector<ShapeRun>> runs = read_runs(options, console.command_line());
  if (!runs.ok()) return runs.status();
  Result<Ledger> ledger = prepare_outputs(options.paths, *runs);
  if (!ledger.ok()) return ledger.status();
  const Result<std::unique_ptr<Workbench>> workbench = open_workbench(options.device);
  if (!workbench.ok()) return workbench.status();
  WAVEFILL_RETURN_IF_ERROR(check_kernels(**workbench, *runs));

  const Result<std::vector<TunedShape>> tuned = tune_shapes(*runs, **workbench, *ledger, console);
  if (!tuned.ok()) return tuned.status();
  if (!tuned->empty()) {
    console.print(runs->size() == 1 ? outcome_text(tuned->front(), options.json, console)
                                    : outcome_text(std::span(*tuned), options.json, console));
  }
  return tuned->size() == runs->size() ? ExitCode::ok : ExitCode::environment;
}

void add_output_options(OptionSet& set, OutputPaths& paths) {
  set.begin_group("Output");
  set.text("--out", paths.profile, "FILE", "the profile: what WAVEFILL_PROFILE takes");
  set.text("--report", paths.report, "FILE", "the report: one HTML page");
  set.text("--csv", paths.csv, "FILE", "every setting measured, as CSV");
  set.text("--junit", paths.junit, "FILE", "a verdict a batch size as JUnit XML, for continuous integration");
  set.text("--figures", paths.figures, "DIR", "a directory for the figures as SVG");
  add_ledger_option(set, paths.ledger, "where measurements are kept");
}

}  // namespace

Action define_tune(OptionSet& set) {
  const auto options = std::make_shared<TuneOptions>();
  add_device_options(set, options->device);
  add_kernel_option(set, options->device, "the fastest of those that take the shape, as measured");
  add_shape_options(set, options->shape, Degrees::list);
  set.begin_group("Options");
  set.required_text("--batch", options->batches, "LIST", "batch sizes: 64,80,96 or 1-16 or 1,8-64:8");
  set.text("--budget", options->budget, "TIME", "time to spend on each shape, in s or m");
  set.text("--deployed", options->deployed, "SETTING",
           "the setting in use now, which others must beat (default: the environment's, else efficiency)");
  set.texts("--also", options->also, "SETTING", "measure this setting too; may be repeated");
  set.text("--workload", options->workload, "LIST|FILE",
           "batch sizes that matter (48-80), or a file of size and weight a line");
  set.text("--seed", options->seed, "N", "of the order of measuring and of the bootstrap");
  set.flag("--no-resume", options->no_resume,
           "start anew although an unfinished run of the same kind is there");
  set.flag("--allow-warm", options->allow_warm, "measure although caches cannot be shown to be cold");
  set.flag("--count-contaminated", options->count_contaminated,
           "use rounds too in which something else used the machine");
  add_output_options(set, options->paths);
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
