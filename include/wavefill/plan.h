// Plans: which CTA does which part of which row. Pure arithmetic; no device is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wavefill/device.h"
#include "wavefill/export.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill {

class Profile;  // wavefill/profile.h

// How num_splits is chosen. Each is a row of one table: see all_policies().
enum class PolicyKind : std::uint8_t {
  fixed,          // fixed=N: N splits a row (fewer where a row has fewer kv tiles)
  target_ctas,    // target-ctas=T: clamp(ceil(T / (rows * head_tiles)), 1, kv_tiles)
  efficiency,     // FlashAttention-2: the fewest splits within 85 % of the best wave efficiency
  tail_gap,       // FlashInfer SM120: at most 3 waves, the least unfilled tail
  last_wave,      // whole rows, but those of the last, partial wave in as many splits as fill it
  list_schedule,  // FlashInfer PR 4802: the least list-schedule makespan under a cost model
  balanced,       // balanced[=N]; FlashMLA: contiguous shares of all kv tiles, a row costing N more
  measured,       // measured=PROFILE: the setting that a profile measured for this batch
};

struct PolicyInfo {
  PolicyKind kind;
  std::string_view name;       // "target-ctas"
  std::string_view parameter;  // "T"; empty = takes none
  std::string_view summary;    // one line, for --help and listings
  bool is_parameter_optional = false;
};
WAVEFILL_API std::span<const PolicyInfo> all_policies();
WAVEFILL_API std::string to_string(const PolicyInfo& info);  // "target-ctas=T", "efficiency", "balanced[=N]"

// A policy with its parameter: what can be deployed, written "target-ctas=512", "balanced" or "balanced=2".
struct Setting {
  PolicyKind kind = PolicyKind::efficiency;
  std::int64_t value = 0;                            // N or T; 0 where none is written
  std::shared_ptr<const Profile> profile = nullptr;  // measured only
  std::string profile_path = {};                     // measured only: as written by the user

  friend bool operator==(const Setting&, const Setting&) = default;
};
inline constexpr std::int64_t kMaxTargetCtas = 1 << 20;
inline constexpr std::int64_t kMaxNumSplits = 4096;
inline constexpr std::int64_t kMaxRowOverheadTiles = 64;

// Parses "fixed=4", "balanced", "measured=path.json" (which reads the file). Strict: no blanks, signs,
// units or trailing text. Errors: invalid_argument, naming what was seen and what is allowed.
WAVEFILL_API Result<Setting> parse_setting(std::string_view text);
WAVEFILL_API std::string to_string(const Setting& setting);

// The constants of the cost model behind `list_schedule` (docs/cost_model.md). Times in microseconds.
struct CostModel {
  double tile_us = 0.0;         // one kv tile of one head tile, on a slot that has the device to itself
  double tile_stream_us = 0.0;  // one kv tile at the whole device's memory bandwidth
  double cta_us = 0.0;          // fixed cost of one work item
  double combine_us = 0.0;      // fixed cost of having partials at all
  double partial_us = 0.0;      // cost of one partial in the combine, per slot
  double launch_us = 0.0;       // what any call costs; 0 where it is not told apart from cta_us
  std::string source;           // "vendor figures" or where it was fitted

  friend bool operator==(const CostModel&, const CostModel&) = default;
};
WAVEFILL_API CostModel default_cost_model(const DeviceSpec& device, const KernelSpec& kernel,
                                          const DecodeShape& shape);

// Some kv tiles of one row, for one head tile.
struct WorkItem {
  std::int32_t row = 0;
  std::int32_t head_tile = 0;
  std::int32_t tile_begin = 0;    // half-open range of the row's kv tiles:
  std::int32_t tile_end = 0;      // main-cache tiles first, then extra-cache tiles
  std::int32_t partial_idx = -1;  // -1: the row is whole, write the output; else the partial's place

  friend bool operator==(const WorkItem&, const WorkItem&) = default;
};

// Everything kernels and combine read. Invariants (tests/plan/plan_invariants.h):
// every kv tile of every (row, head tile) in exactly one item; a row's partials are
// row_partial_begin[row] .. row_partial_begin[row + 1] in tile order, the same for all its head tiles;
// a row with no kv tiles has one empty whole item a head tile, so that its output is written.
struct SplitPlan {
  // What the plan was made for; running it on anything else is refused.
  DeviceSpec device;
  KernelSpec kernel;
  DecodeShape shape;
  Setting setting;
  bool batch_invariant = false;
  std::vector<std::int32_t> row_kv_tiles;  // [rows]: the most kv tiles a row may have when it runs

  std::vector<WorkItem> items;
  std::vector<std::int32_t> worker_begin;       // [num_workers + 1] prefix into items
  std::vector<std::int32_t> row_partial_begin;  // [rows + 1] prefix of partials

  std::int64_t num_workers() const { return static_cast<std::int64_t>(worker_begin.size()) - 1; }
  std::int64_t num_partials() const { return row_partial_begin.empty() ? 0 : row_partial_begin.back(); }

  friend bool operator==(const SplitPlan&, const SplitPlan&) = default;
};

struct PlanRequest {
  DeviceSpec device;
  KernelSpec kernel;
  DecodeShape shape;
  // [rows] lengths of the rows, or empty: every row has topk (extra_topk) tokens.
  std::span<const std::int32_t> lengths;
  std::span<const std::int32_t> extra_lengths;
  Setting setting;
  std::optional<CostModel> cost_model;  // list_schedule; default_cost_model() if absent
  // Each row is split as if it were alone, so its bits do not depend on its batch.
  bool batch_invariant = false;
};

// Errors: invalid_argument (shape, lengths, device, kernel, setting, cost model, or more work items than 32
// bits can index), not_found and mismatch (as Profile::lookup), resource_exhausted (memory).
WAVEFILL_API Result<SplitPlan> make_plan(const PlanRequest& request);

// What a plan means for the device's waves.
struct WaveStats {
  std::int32_t num_splits = 0;          // the most splits any row has (1 for whole rows)
  std::int64_t num_splits_total = 0;    // over rows
  std::int64_t num_ctas = 0;            // workers launched
  std::int64_t num_waves = 0;           // ceil(num_ctas / slots)
  double wave_efficiency = 0.0;         // num_ctas / (num_waves * slots), 0..1
  std::int64_t max_tiles_per_slot = 0;  // kv tiles of the busiest slot, when items are taken in order
};
WAVEFILL_API WaveStats wave_stats(const SplitPlan& plan);

// Bytes that `plan`'s partials may take: num_partials * num_heads * (512 + 1) fp32, and 0 without any. (A GPU
// has them in fp16, in half of that.) What a call needs on a device, which may be more, is
// Decoder::workspace_bytes().
WAVEFILL_API std::size_t workspace_bytes(const SplitPlan& plan);

// ceil(length / kv_tile) + ceil(extra_length / kv_tile): no tile spans both caches.
WAVEFILL_API std::int64_t num_kv_tiles(std::int64_t length, std::int64_t extra_length, std::int32_t kv_tile);

}  // namespace wavefill
