#include "tune/wave_model.h"

namespace wavefill {

Result<std::vector<Proposal>> wave_model_proposals(const DeviceSpec& device, const KernelSpec& kernel,
                                                   const DecodeShape& shape,
                                                   std::span<const std::int32_t> batches,
                                                   std::int32_t max_splits) {
  PlanRequest request;
  request.device = device;
  request.kernel = kernel;
  request.shape = shape;
  request.setting.kind = PolicyKind::fixed;
  std::vector<Proposal> proposals;
  for (const std::int32_t batch : batches) {
    request.shape.batch = batch;
    double best_efficiency = 0.0;
    Proposal proposal;
    proposal.batch = batch;
    proposal.source = "the wave model";
    for (std::int32_t splits = 1; splits <= max_splits; ++splits) {
      request.setting.value = splits;
      const auto plan = make_plan(request);
      if (!plan.ok()) return plan.status();
      const WaveStats stats = wave_stats(*plan);
      if (stats.wave_efficiency <= best_efficiency) continue;
      best_efficiency = stats.wave_efficiency;
      proposal.num_splits = stats.num_splits;
      proposal.setting = to_string(request.setting);
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

void annotate_with_plans(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape,
                         std::span<Evidence> evidence) {
  PlanRequest request;
  request.device = device;
  request.kernel = kernel;
  request.shape = shape;
  for (Evidence& item : evidence) {
    auto setting = parse_setting(item.setting);
    if (!setting.ok()) continue;
    request.shape.batch = item.batch;
    request.setting = *std::move(setting);
    const auto plan = make_plan(request);
    if (!plan.ok()) continue;
    const WaveStats stats = wave_stats(*plan);
    item.num_splits = stats.num_splits;
    item.num_waves = stats.num_waves;
  }
}

}  // namespace wavefill
