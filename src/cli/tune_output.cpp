#include "cli/tune_output.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/files.h"
#include "core/errors.h"
#include "report/junit.h"
#include "tune/profile_writer.h"

namespace wavefill::cli {
namespace {

void erase_samples(Json& batch) {
  batch.erase("a_a_samples_us");
  for (Json& arm : batch["arms"]) arm.erase("samples_us");
  if (!batch["confirmation"].is_null()) {
    batch["confirmation"].erase("samples_us");
    batch["confirmation"].erase("deployed_samples_us");
  }
}

Json path_or_null(const std::string& path) { return path.empty() ? Json() : Json(path); }

}  // namespace

Status check_outputs(const OutputPaths& paths) {
  const std::array<std::pair<std::string_view, std::string>, 6> files = {
      {{"--out", paths.profile},
       {"--report", paths.report},
       {"--csv", paths.csv},
       {"--junit", paths.junit},
       {"--ledger", paths.ledger},
       {"--figures", paths.figures.empty() ? "" : paths.figures + "/throughput.svg"}}};
  for (const auto& [option, path] : files) {
    if (!path.empty()) WAVEFILL_RETURN_IF_ERROR(check_writable(option, path));
  }
  return {};
}

Status write_outputs(const OutputPaths& paths, const TuneResult& result, const report::Report& report) {
  if (!paths.profile.empty() && result.profile) {
    DecodeShape shape = report.shape;
    WAVEFILL_RETURN_IF_ERROR(
        write_profile(paths.profile, *result.profile, result.device, result.kernel, shape));
  }
  if (!paths.report.empty()) WAVEFILL_RETURN_IF_ERROR(write_file(paths.report, to_html(report)));
  if (!paths.csv.empty()) WAVEFILL_RETURN_IF_ERROR(write_file(paths.csv, to_csv(report)));
  if (!paths.junit.empty()) WAVEFILL_RETURN_IF_ERROR(write_file(paths.junit, to_junit(report)));
  if (paths.figures.empty()) return {};
  for (const auto& [name, svg] : to_svg_files(report)) {
    WAVEFILL_RETURN_IF_ERROR(write_file(paths.figures + "/" + name, svg));
  }
  return {};
}

Json tune_document(const report::Report& report, const OutputPaths& paths) {
  Json document = Json::parse(to_json(report));
  for (Json& batch : document["batches"]) erase_samples(batch);
  document["paths"] = {{"profile", path_or_null(paths.profile)}, {"report", path_or_null(paths.report)},
                       {"csv", path_or_null(paths.csv)},         {"junit", path_or_null(paths.junit)},
                       {"figures", path_or_null(paths.figures)}, {"ledger", path_or_null(paths.ledger)}};
  return document;
}

std::string tune_text(const report::Report& report, const TuneResult& result, const OutputPaths& paths,
                      const report::TerminalStyle& style) {
  std::string text = to_text(report, style) + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<9}{}\n", name, value);
  };
  line("profile", paths.profile);
  line("report", paths.report);
  line("csv", paths.csv);
  line("junit", paths.junit);
  line("figures", paths.figures);
  line("ledger", fmt::format("{}, run {}{}", paths.ledger, result.run, result.resumed ? " (resumed)" : ""));
  if (!paths.profile.empty()) {
    text += fmt::format("\nTo serve by it: export WAVEFILL_PROFILE={}\n", paths.profile);
  }
  return text;
}

}  // namespace wavefill::cli
