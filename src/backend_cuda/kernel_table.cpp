#include "backend_cuda/kernel_table.h"

#include <algorithm>

#include "backend_cuda/device_query.h"
#include "backend_cuda/plan_image.h"
#include "core/errors.h"

namespace wavefill::cuda {

std::vector<SplitKernel> all_split_kernels() {
  std::vector<SplitKernel> kernels;
  for (const auto part : {split_wgmma_dsv4_kernels(), split_wgmma_dsv32_kernels(), split_wgmma_bf16_kernels(),
                          split_mma_dsv4_kernels(), split_mma_dsv32_kernels(), split_mma_bf16_kernels()}) {
    kernels.insert(kernels.end(), part.begin(), part.end());
  }
  return kernels;
}

namespace {

constexpr std::int32_t kClusterCapability = 90;

bool same_tokens(const SplitKernel& a, const SplitKernel& b) {
  return a.kv_format == b.kv_format && a.d_qk == b.d_qk;
}

void set_least_heads(std::vector<TableRow>& table) {
  for (TableRow& row : table) {
    const bool is_smallest = std::ranges::none_of(table, [&](const TableRow& other) {
      return same_tokens(other.kernel, row.kernel) && other.kernel.heads_per_cta < row.kernel.heads_per_cta;
    });
    row.least_heads = is_smallest ? 1 : row.kernel.heads_per_cta / 2 + 1;
  }
}

Status find_active_clusters(TableRow& row, const DeviceSpec& device) {
  const KernelFunction& kernel = row.kernel.of_clusters;
  if (kernel.function == nullptr || device.compute_capability < kClusterCapability) return {};
  const auto ctas = query_ctas_per_sm(kernel, device.smem_per_block_optin_bytes);
  if (!ctas.ok()) return ctas.status();
  for (std::int32_t size = 2; size <= kMaxClusterSplits && *ctas > 0; ++size) {
    const auto clusters = query_active_clusters(kernel, size);
    if (!clusters.ok()) return clusters.status();
    row.active_clusters[static_cast<std::size_t>(size)] = *clusters;
  }
  return {};
}

// A grid of that kernel is as many CTAs as the plan has workers, made for slots of `row.spec`.
Status check_neighbours(TableRow& row, const DeviceSpec& device) {
  KernelFunction& kernel = row.kernel.of_neighbours;
  if (kernel.function == nullptr) return {};
  const auto ctas = query_ctas_per_sm(kernel, device.smem_per_block_optin_bytes);
  if (!ctas.ok()) return ctas.status();
  if (*ctas < row.spec.ctas_per_sm) kernel = {};
  return {};
}

}  // namespace

Result<std::vector<TableRow>> make_kernel_table(const DeviceSpec& device) {
  std::vector<TableRow> table;
  for (const SplitKernel& kernel : all_split_kernels()) {
    if (kernel.only_capability != 0 && kernel.only_capability != device.compute_capability) continue;
    const auto ctas = query_ctas_per_sm(kernel.kernel, device.smem_per_block_optin_bytes);
    if (!ctas.ok()) return ctas.status();
    if (*ctas == 0) continue;
    table.push_back({.kernel = kernel,
                     .spec = {.name = kernel.kernel.name,
                              .heads_per_cta = kernel.heads_per_cta,
                              .kv_tile = kernel.kv_tile,
                              .threads = kernel.kernel.threads,
                              .smem_bytes = kernel.kernel.smem_bytes,
                              .ctas_per_sm = *ctas}});
    WAVEFILL_RETURN_IF_ERROR(find_active_clusters(table.back(), device));
    WAVEFILL_RETURN_IF_ERROR(check_neighbours(table.back(), device));
  }
  set_least_heads(table);
  return table;
}

bool merges_in_cluster(const TableRow& row, const PlanParams& plan) {
  if (plan.items != nullptr || plan.num_splits < 2 || plan.num_splits > kMaxClusterSplits) return false;
  return plan.num_items / plan.num_splits <= row.active_clusters[static_cast<std::size_t>(plan.num_splits)];
}

bool merges_in_workers(const TableRow& row, const SplitPlan& plan, const PlanParams& placed) {
  constexpr std::int64_t kMostPieces = 3;
  if (row.kernel.of_neighbours.function == nullptr || placed.items == nullptr || plan.batch_invariant ||
      plan.num_partials() == 0) {
    return false;
  }
  return worker_partials_bytes(plan) <= workspace_bytes(plan) && most_pieces_of_row(plan) <= kMostPieces &&
         has_neighbouring_pieces(plan);
}

Status supports_shape(const TableRow& row, const DecodeShape& shape) {
  const SplitKernel& kernel = row.kernel;
  if (shape.kv_format != kernel.kv_format) {
    return make_status(StatusCode::unsupported, "kernel {} has no kv_format {}; allowed: {}", row.spec.name,
                       short_name(shape.kv_format), short_name(kernel.kv_format));
  }
  if (shape.d_qk != kernel.d_qk) {
    return make_status(StatusCode::unsupported, "kernel {} has no d_qk {}; allowed: {}", row.spec.name,
                       shape.d_qk, kernel.d_qk);
  }
  if (shape.num_heads < row.least_heads) {
    return make_status(StatusCode::unsupported, "kernel {} takes no num_heads {}; allowed: {}..{}",
                       row.spec.name, shape.num_heads, row.least_heads, kMaxHeads);
  }
  return {};
}

}  // namespace wavefill::cuda
