#include "cli/tune_output.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "cli/files.h"
#include "cli/verdict_text.h"
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

// "out/profile.json" -> "out/profile.tp4.json"; empty stays empty.
std::string file_of_degree(const std::string& path, std::int64_t tp) {
  if (path.empty()) return "";
  std::filesystem::path file(path);
  file.replace_filename(fmt::format("{}.tp{}{}", file.stem().string(), tp, file.extension().string()));
  return file.string();
}

std::string summary_text(std::span<const TunedShape> shapes, const report::TerminalStyle& style) {
  report::TextTable table({{"TP"},
                           {"heads"},
                           {"kernel", report::Align::left},
                           {"decision", report::Align::left},
                           {"throughput"},
                           {"profile", report::Align::left}});
  for (const TunedShape& shape : shapes) {
    table.add_row({std::to_string(shape.tp), std::to_string(shape.report.shape.num_heads),
                   shape.report.kernel, decision_text(shape.report), percent_text(shape.report.weighted_gain),
                   shape.paths.profile.empty() ? "-" : shape.paths.profile});
  }
  return table.render(style);
}

}  // namespace

OutputPaths paths_of_degree(const OutputPaths& paths, std::int64_t tp) {
  return {.profile = file_of_degree(paths.profile, tp),
          .report = file_of_degree(paths.report, tp),
          .csv = file_of_degree(paths.csv, tp),
          .junit = file_of_degree(paths.junit, tp),
          .figures = paths.figures.empty() ? "" : fmt::format("{}/tp{}", paths.figures, tp),
          .ledger = paths.ledger};
}

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

Status write_outputs(const TunedShape& shape) {
  const auto& [tp, paths, result, report] = shape;
  if (!paths.profile.empty() && result.profile) {
    WAVEFILL_RETURN_IF_ERROR(
        write_profile(paths.profile, *result.profile, result.device, result.kernel, report.shape));
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

Json tune_document(const TunedShape& shape) {
  const OutputPaths& paths = shape.paths;
  Json document = Json::parse(to_json(shape.report));
  for (Json& batch : document["batches"]) erase_samples(batch);
  document["paths"] = {{"profile", path_or_null(paths.profile)}, {"report", path_or_null(paths.report)},
                       {"csv", path_or_null(paths.csv)},         {"junit", path_or_null(paths.junit)},
                       {"figures", path_or_null(paths.figures)}, {"ledger", path_or_null(paths.ledger)}};
  return document;
}

Json tune_document(std::span<const TunedShape> shapes) {
  Json documents = Json::array();
  for (const TunedShape& shape : shapes) documents.push_back(tune_document(shape));
  return {{"shapes", std::move(documents)}};
}

std::string tune_text(const TunedShape& shape, const report::TerminalStyle& style) {
  const OutputPaths& paths = shape.paths;
  std::string text = to_text(shape.report, style) + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<9}{}\n", name, value);
  };
  line("profile", paths.profile);
  line("report", paths.report);
  line("csv", paths.csv);
  line("junit", paths.junit);
  line("figures", paths.figures);
  line("ledger",
       fmt::format("{}, run {}{}", paths.ledger, shape.result.run, shape.result.resumed ? " (resumed)" : ""));
  if (!paths.profile.empty()) {
    text += fmt::format("\nTo serve by it: export WAVEFILL_PROFILE={}\n", paths.profile);
  }
  return text;
}

std::string tune_text(std::span<const TunedShape> shapes, const report::TerminalStyle& style) {
  std::string text;
  for (const TunedShape& shape : shapes) text += tune_text(shape, style) + "\n";
  return text + summary_text(shapes, style);
}

}  // namespace wavefill::cli
