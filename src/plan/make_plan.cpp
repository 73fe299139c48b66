// make_plan: check the request, ask the policy for shares, lay them out as items, workers and partials.
#include <cmath>
#include <new>
#include <unordered_map>

#include "core/errors.h"
#include "core/math.h"
#include "plan/plan_layout.h"
#include "plan/policies.h"
#include "wavefill/plan.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

Status validate_device(const DeviceSpec& device, const KernelSpec& kernel) {
  if (device.num_sms < 1) return invalid_argument("device.num_sms is {}; allowed: >= 1", device.num_sms);
  if (kernel.heads_per_cta < 1 || kernel.heads_per_cta > kMaxHeads) {
    return invalid_argument("kernel.heads_per_cta is {}; allowed: 1..{}", kernel.heads_per_cta, kMaxHeads);
  }
  if (kernel.kv_tile < 1) return invalid_argument("kernel.kv_tile is {}; allowed: >= 1", kernel.kv_tile);
  if (kernel.ctas_per_sm < 1) {
    return invalid_argument("kernel.ctas_per_sm is {}; allowed: >= 1", kernel.ctas_per_sm);
  }
  if (num_slots(device, kernel) > INT32_MAX) {
    return invalid_argument("device.num_sms * kernel.ctas_per_sm is {}; allowed: <= {}",
                            num_slots(device, kernel), INT32_MAX);
  }
  return {};
}

Status validate_lengths(std::string_view name, std::span<const std::int32_t> lengths, std::int64_t rows,
                        std::string_view bound_name, std::int32_t bound) {
  if (lengths.empty()) return {};
  if (std::ssize(lengths) != rows) {
    return invalid_argument("{} has {} values; allowed: none, or {} (batch * s_q)", name, lengths.size(),
                            rows);
  }
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    if (lengths[row] < 0 || lengths[row] > bound) {
      return invalid_argument("{}[{}] is {}; allowed: 0..{} ({})", name, row, lengths[row], bound,
                              bound_name);
    }
  }
  return {};
}

Status validate_cost_model(const CostModel& model) {
  for (const auto& [name, us] :
       {std::pair{"tile_us", model.tile_us}, std::pair{"tile_stream_us", model.tile_stream_us},
        std::pair{"cta_us", model.cta_us}, std::pair{"combine_us", model.combine_us},
        std::pair{"partial_us", model.partial_us}, std::pair{"launch_us", model.launch_us}}) {
    if (!std::isfinite(us) || us < 0.0) {
      return invalid_argument("cost_model.{} is {}; allowed: finite and >= 0", name, us);
    }
  }
  return {};
}

Status validate(const PlanRequest& request) {
  const DecodeShape& shape = request.shape;
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  WAVEFILL_RETURN_IF_ERROR(validate_device(request.device, request.kernel));
  WAVEFILL_RETURN_IF_ERROR(validate_lengths("lengths", request.lengths, shape.rows(), "topk", shape.topk));
  WAVEFILL_RETURN_IF_ERROR(
      validate_lengths("extra_lengths", request.extra_lengths, shape.rows(), "extra_topk", shape.extra_topk));
  if (request.cost_model) return validate_cost_model(*request.cost_model);
  return {};
}

// Item tile bounds are 32-bit.
Result<std::vector<std::int32_t>> count_row_tiles(const PlanRequest& request) {
  const DecodeShape& shape = request.shape;
  const std::int32_t kv_tile = request.kernel.kv_tile;
  if (const std::int64_t most = num_kv_tiles(shape.topk, shape.extra_topk, kv_tile); most > INT32_MAX) {
    return invalid_argument("topk {} and extra_topk {} make {} kv tiles of {} tokens; allowed: <= {}",
                            shape.topk, shape.extra_topk, most, kv_tile, INT32_MAX);
  }
  std::vector<std::int32_t> row_tiles(static_cast<std::size_t>(shape.rows()));
  for (std::size_t row = 0; row < row_tiles.size(); ++row) {
    const std::int32_t length = request.lengths.empty() ? shape.topk : request.lengths[row];
    const std::int32_t extra = request.extra_lengths.empty() ? shape.extra_topk : request.extra_lengths[row];
    row_tiles[row] = static_cast<std::int32_t>(num_kv_tiles(length, extra, kv_tile));
  }
  return row_tiles;
}

// `measured` stands for the setting that its profile has for this batch. A batch-invariant plan may not
// look at the batch, so it takes what was measured for one request.
Result<Setting> resolve(const PlanRequest& request) {
  if (request.setting.kind != PolicyKind::measured) return request.setting;
  if (request.setting.profile == nullptr) {
    return invalid_argument("setting.profile is null; allowed: a profile, for the policy measured");
  }
  const ProfileKey key = key_of(request.device, request.kernel, request.shape);
  return request.setting.profile->lookup(key, request.batch_invariant ? 1 : request.shape.batch);
}

Result<const Policy*> checked_policy(const Setting& setting) {
  const Policy* policy = find_policy(setting.kind);
  if (policy == nullptr || policy->split == nullptr) {
    return invalid_argument("setting.kind is {}; allowed: {}", static_cast<int>(setting.kind),
                            allowed_settings(/*with_measured=*/true));
  }
  if (!policy->takes(setting.value)) {
    return invalid_argument("{} of {} is {}; allowed: 1..{}", policy->info.parameter, policy->info.name,
                            setting.value, policy->max_value);
  }
  return policy;
}

// The shares each row gets when it is a batch of its own: they depend on its number of tiles alone.
Result<Schedule> split_rows_alone(const Policy& policy, const SplitProblem& problem) {
  std::unordered_map<std::int32_t, std::vector<Share>> shares_of_tiles;
  std::size_t num_shares = 0;
  for (std::size_t row = 0; row < problem.row_tiles.size(); ++row) {
    auto [known, is_new] = shares_of_tiles.try_emplace(problem.row_tiles[row]);
    if (is_new) {
      SplitProblem alone = problem;
      alone.row_tiles = problem.row_tiles.subspan(row, 1);
      Result<Schedule> split = policy.split(alone);
      if (!split.ok()) return split.status();
      known->second = std::move(split->shares);
    }
    num_shares += known->second.size();  // <= 2^31 rows * 2^31 shares
  }
  if (num_shares > static_cast<std::size_t>(INT32_MAX / problem.head_tiles)) {
    return invalid_argument("rows split alone make {} splits of {} head tiles; allowed: <= {} work items",
                            num_shares, problem.head_tiles, INT32_MAX);
  }

  Schedule schedule;
  schedule.shares.reserve(num_shares);
  for (std::size_t row = 0; row < problem.row_tiles.size(); ++row) {
    for (Share share : shares_of_tiles[problem.row_tiles[row]]) {
      share.row = static_cast<std::int32_t>(row);
      schedule.shares.push_back(share);
    }
  }
  return schedule;
}

Result<SplitPlan> make_checked_plan(const PlanRequest& request) {
  WAVEFILL_RETURN_IF_ERROR(validate(request));
  Result<std::vector<std::int32_t>> row_tiles = count_row_tiles(request);
  if (!row_tiles.ok()) return row_tiles.status();
  const Result<Setting> setting = resolve(request);
  if (!setting.ok()) return setting.status();
  const Result<const Policy*> policy = checked_policy(*setting);
  if (!policy.ok()) return policy.status();

  SplitPlan plan;
  plan.device = request.device;
  plan.kernel = request.kernel;
  plan.shape = request.shape;
  plan.setting = request.setting;
  plan.batch_invariant = request.batch_invariant;
  plan.row_kv_tiles = *std::move(row_tiles);
  const std::int32_t head_tiles = num_head_tiles(request.kernel, request.shape.num_heads);
  const SplitProblem problem{
      .row_tiles = plan.row_kv_tiles,
      .head_tiles = head_tiles,
      .slots = num_slots(request.device, request.kernel),
      .value = setting->value,
      .cost_model = request.cost_model ? *request.cost_model
                                       : default_cost_model(request.device, request.kernel, request.shape)};
  const Result<Schedule> schedule =
      request.batch_invariant ? split_rows_alone(**policy, problem) : (*policy)->split(problem);
  if (!schedule.ok()) return schedule.status();
  lay_out(*schedule, plan);
  return plan;
}

}  // namespace

Result<SplitPlan> make_plan(const PlanRequest& request) {
  try {
    return make_checked_plan(request);
  } catch (const std::bad_alloc&) {
    return make_status(StatusCode::resource_exhausted, "out of memory for a plan of {} rows",
                       request.shape.rows());
  }
}

std::int64_t num_kv_tiles(std::int64_t length, std::int64_t extra_length, std::int32_t kv_tile) {
  return ceil_div<std::int64_t>(length, kv_tile) + ceil_div<std::int64_t>(extra_length, kv_tile);
}

}  // namespace wavefill
