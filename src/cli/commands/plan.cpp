// wavefill plan: how batches would be split over a device, by any policy, without running anything.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/json_output.h"
#include "cli/length_options.h"
#include "cli/number_list.h"
#include "cli/setting_options.h"
#include "cli/shape_options.h"
#include "cli/units.h"
#include "report/text_table.h"

namespace wavefill::cli {
namespace {

struct PlanOptions {
  PlanTargetOptions target;
  ShapeOptions shape;
  LengthOptions lengths;
  SettingOptions settings;
  std::string batches = "1";
  bool batch_invariant = false;
  bool json = false;
};

// One plan in figures.
struct PlannedBatch {
  std::int32_t batch = 0;
  std::string setting;
  WaveStats waves;
  std::int64_t num_partials = 0;
  std::size_t workspace_bytes = 0;
};

struct PlanJob {
  PlanTarget target;
  DecodeShape shape;
  std::vector<std::int32_t> batches;
  RowLengths lengths;
  std::vector<Setting> settings;
  bool batch_invariant = false;
};

Result<PlanJob> read_job(const PlanOptions& options) {
  PlanJob job;
  const Result<NamedShape> named = read_shape(options.shape);
  if (!named.ok()) return named.status();
  job.shape = named->shape;
  Result<std::vector<std::int32_t>> batches = parse_batch_list("--batch", options.batches);
  if (!batches.ok()) return batches.status();
  job.batches = *std::move(batches);
  Result<PlanTarget> target = read_plan_target(options.target, job.shape);
  if (!target.ok()) return target.status();
  job.target = *std::move(target);
  DecodeShape largest = job.shape;
  largest.batch = job.batches.back();
  Result<RowLengths> lengths = read_lengths(options.lengths, largest);
  if (!lengths.ok()) return lengths.status();
  job.lengths = *std::move(lengths);
  Result<std::vector<Setting>> settings =
      read_settings(options.settings, num_slots(job.target.device, job.target.kernel));
  if (!settings.ok()) return settings.status();
  job.settings = *std::move(settings);
  job.batch_invariant = options.batch_invariant;
  return job;
}

std::span<const std::int32_t> first_rows(const std::vector<std::int32_t>& lengths, std::int64_t rows) {
  return std::span(lengths).first(std::min(lengths.size(), static_cast<std::size_t>(rows)));
}

Result<PlannedBatch> plan_batch(const PlanJob& job, std::int32_t batch, const Setting& setting) {
  PlanRequest request;
  request.device = job.target.device;
  request.kernel = job.target.kernel;
  request.shape = job.shape;
  request.shape.batch = batch;
  request.lengths = first_rows(job.lengths.main, request.shape.rows());
  request.extra_lengths = first_rows(job.lengths.extra, request.shape.rows());
  request.setting = setting;
  request.batch_invariant = job.batch_invariant;
  const Result<SplitPlan> plan = make_plan(request);
  if (!plan.ok()) return plan.status();
  return PlannedBatch{.batch = batch,
                      .setting = to_string(setting),
                      .waves = wave_stats(*plan),
                      .num_partials = plan->num_partials(),
                      .workspace_bytes = workspace_bytes(*plan)};
}

Json json_of(const PlannedBatch& planned) {
  const WaveStats& waves = planned.waves;
  return {{"batch", planned.batch},
          {"policy", planned.setting},
          {"num_splits", waves.num_splits},
          {"num_splits_total", waves.num_splits_total},
          {"num_ctas", waves.num_ctas},
          {"num_waves", waves.num_waves},
          {"wave_efficiency", rounded(waves.wave_efficiency, 3)},
          {"max_tiles_per_slot", waves.max_tiles_per_slot},
          {"num_partials", planned.num_partials},
          {"workspace_bytes", planned.workspace_bytes}};
}

// Each wave as a box, filled as far as it is: "[########][########][######..]".
std::string wave_picture(const WaveStats& waves, std::int64_t slots, const report::TerminalStyle& style) {
  constexpr std::int64_t kMostBoxes = 6;
  constexpr std::size_t kBoxWidth = 8;
  const auto box = [&](double fraction) { return "[" + report::bar(fraction, kBoxWidth, style) + "]"; };
  const std::int64_t in_last = waves.num_ctas - (waves.num_waves - 1) * slots;
  const double last = static_cast<double>(in_last) / static_cast<double>(slots);
  if (waves.num_waves > kMostBoxes) return fmt::format("{} full + {}", waves.num_waves - 1, box(last));
  std::string picture;
  for (std::int64_t wave = 1; wave < waves.num_waves; ++wave) picture += box(1.0);
  return picture + box(last);
}

std::string heading(const PlanJob& job) {
  const DeviceSpec& device = job.target.device;
  const KernelSpec& kernel = job.target.kernel;
  const std::int32_t head_tiles = num_head_tiles(kernel, job.shape.num_heads);
  return fmt::format("{}: {} slots ({} x {}); {} heads in {} head tile{} of {}; {} kv tiles of {} a row\n\n",
                     device.name, num_slots(device, kernel), device.num_sms, kernel.ctas_per_sm,
                     job.shape.num_heads, head_tiles, head_tiles == 1 ? "" : "s", kernel.heads_per_cta,
                     num_kv_tiles(job.shape.topk, job.shape.extra_topk, kernel.kv_tile), kernel.kv_tile);
}

std::string table_of(const PlanJob& job, const std::vector<PlannedBatch>& planned,
                     const report::TerminalStyle& style) {
  using report::Align;
  report::TextTable table({{"batch"},
                           {"policy", Align::left},
                           {"splits"},
                           {"CTAs"},
                           {"waves"},
                           {"efficiency"},
                           {"tiles/slot"},
                           {"partials"},
                           {"workspace"},
                           {"", Align::left}});
  const std::int64_t slots = num_slots(job.target.device, job.target.kernel);
  std::int32_t batch_above = 0;
  for (const PlannedBatch& row : planned) {
    table.add_row({row.batch == batch_above ? std::string() : std::to_string(row.batch), row.setting,
                   std::to_string(row.waves.num_splits), std::to_string(row.waves.num_ctas),
                   std::to_string(row.waves.num_waves),
                   fmt::format("{:.1f}%", row.waves.wave_efficiency * 100),
                   std::to_string(row.waves.max_tiles_per_slot), std::to_string(row.num_partials),
                   bytes_text(row.workspace_bytes), wave_picture(row.waves, slots, style)});
    batch_above = row.batch;
  }
  return table.render(style);
}

Result<ExitCode> run(const PlanOptions& options, Console& console) {
  const Result<PlanJob> job = read_job(options);
  if (!job.ok()) return job.status();
  std::vector<PlannedBatch> planned;
  for (const std::int32_t batch : job->batches) {
    for (const Setting& setting : job->settings) {
      Result<PlannedBatch> row = plan_batch(*job, batch, setting);
      if (!row.ok()) return row.status();
      planned.push_back(*std::move(row));
    }
  }
  if (options.json) {
    Json array = Json::array();
    for (const PlannedBatch& row : planned) array.push_back(json_of(row));
    console.print(json_text(array));
  } else {
    console.print(heading(*job) + table_of(*job, planned, console.style()));
  }
  return ExitCode::ok;
}

}  // namespace

Action define_plan(OptionSet& set) {
  const auto options = std::make_shared<PlanOptions>();
  add_plan_target_options(set, options->target);
  add_shape_options(set, options->shape);
  set.begin_group("Options");
  set.text("--batch", options->batches, "LIST", "batch sizes: 64,80,96 or 1-16 or 1,8-64:8");
  add_setting_options(set, options->settings);
  add_length_options(set, options->lengths);
  set.begin_group("Options");
  set.flag("--batch-invariant", options->batch_invariant,
           "split each row as if it were alone, so that its bits do not depend on its batch");
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
