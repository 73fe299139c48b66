#include "backend_cuda/cuda_backend.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_cuda/cuda_status.h"
#include "backend_cuda/device_query.h"
#include "backend_cuda/kernel_table.h"
#include "backend_cuda/launch.h"
#include "backend_cuda/params_of_args.h"
#include "backend_cuda/plan_image.h"
#include "core/errors.h"
#include "core/math.h"
#include "plan/plan_frame.h"

namespace wavefill {
namespace {

using namespace cuda;

constexpr std::size_t kImageAlignment = 16;
constexpr std::int32_t kDependentLaunchCapability = 90;

// Where a backend begins to number its calls: no number that some other backend, or a workspace's arbitrary
// bytes, can be expected to have.
std::uint64_t first_call_number(const void* backend) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return mix_bits(static_cast<std::uint64_t>(now) + reinterpret_cast<std::uintptr_t>(backend));
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(int ordinal, DeviceSpec device, std::vector<TableRow> table)
      : ordinal_(ordinal),
        next_call_(first_call_number(this)),
        device_(std::move(device)),
        table_(std::move(table)) {
    for (const TableRow& row : table_) specs_.push_back(row.spec);
  }

  const DeviceSpec& device() const override { return device_; }
  std::span<const KernelSpec> kernels() const override { return specs_; }

  Status supports(const KernelSpec& kernel, const DecodeShape& shape) const override {
    const auto row = find(kernel);
    return row.ok() ? supports_shape(**row, shape) : row.status();
  }

  int memory_device() const override { return ordinal_; }

  std::size_t workspace_bytes(const SplitPlan& plan) const override {
    const std::size_t partials = wavefill::workspace_bytes(plan);
    const std::size_t image = plan_memory_bytes(plan);
    return image == 0 ? partials : round_up(partials, kImageAlignment) + image;
  }

  std::size_t plan_memory_bytes(const SplitPlan& plan) const override {
    return static_plan(plan) ? 0 : plan_image_bytes(plan);
  }

  Status prepare(const SplitPlan& plan, void* memory, std::size_t memory_size_bytes,
                 void* stream) const override {
    WAVEFILL_RETURN_IF_ERROR(find(plan.kernel).status());
    if (static_plan(plan)) return {};
    WAVEFILL_RETURN_IF_ERROR(check_plan_memory(plan, memory, memory_size_bytes, plan_image_bytes(plan)));
    const DeviceScope scope(ordinal_);
    WAVEFILL_RETURN_IF_ERROR(scope.status());
    return write_image(plan, memory, stream);
  }

  Status replan(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                void* memory, std::size_t memory_size_bytes, void* stream) const override {
    if (!is_plan_frame(frame)) return invalid_argument("the plan is no frame; allowed: of make_plan_frame()");
    WAVEFILL_RETURN_IF_ERROR(find(frame.kernel).status());
    WAVEFILL_RETURN_IF_ERROR(check_plan_memory(frame, memory, memory_size_bytes, plan_memory_bytes(frame)));
    const DeviceScope scope(ordinal_);
    WAVEFILL_RETURN_IF_ERROR(scope.status());
    const ReplanParams params = replan_params(frame, lengths, extra_lengths, memory);
    return launch(context(stream), replan_function(), 1, &params);
  }

  Status run(const SplitPlan& plan, const DecodeArgs& args, void* stream) const override {
    const DeviceScope scope(ordinal_);
    WAVEFILL_RETURN_IF_ERROR(scope.status());
    if (reinterpret_cast<std::uintptr_t>(args.plan_memory) % kImageAlignment != 0) {
      return invalid_argument("plan_memory is at {}; allowed: a multiple of {} bytes", args.plan_memory,
                              kImageAlignment);
    }
    const auto params = place_plan(plan, args, stream);
    if (!params.ok()) return params.status();
    return run_placed(plan, *params, args, stream);
  }

 private:
  // The launches of a call: all rows, or those that are whole and then those that are clusters.
  struct PlacedPlan {
    PlanParams rows;
    std::optional<PlanParams> cluster_rows = std::nullopt;
  };

  Result<const TableRow*> find(const KernelSpec& spec) const {
    const auto row = std::ranges::find(table_, spec, &TableRow::spec);
    if (row != table_.end()) return &*row;
    return make_status(StatusCode::mismatch, "kernel {} is not in the kernel table of {}", spec.name,
                       device_.name);
  }

  LaunchContext context(void* stream) const {
    return {.stream = stream, .dependent_launch = device_.compute_capability >= kDependentLaunchCapability};
  }

  // Items that can be dealt to any number of CTAs are dealt to those that are resident at once, where an SM
  // has one: it reads the tokens of its next item while it ends one. Where it has two, they hide that from
  // each other, and dealing would keep a CTA on its SM when another SM has room.
  std::int64_t num_ctas(const SplitPlan& plan, const PlanParams& placed) const {
    if (placed.items != nullptr) return plan.num_workers();
    if (plan.kernel.ctas_per_sm > 1) return placed.num_items;
    return std::min<std::int64_t>(placed.num_items, num_slots(device_, plan.kernel));
  }

  // A plan whose launches need no memory to read it from.
  std::optional<PlacedPlan> static_plan(const SplitPlan& plan) const {
    if (const auto uniform = uniform_plan(plan)) return PlacedPlan{.rows = *uniform};
    if (plan.batch_invariant) return std::nullopt;
    const auto row = find(plan.kernel);
    const auto rows = whole_and_split_rows(plan);
    if (!row.ok() || !rows || !merges_in_cluster(**row, rows->split)) return std::nullopt;
    return PlacedPlan{.rows = rows->whole, .cluster_rows = rows->split};
  }

  // Where kernels find the plan: in their parameters, where prepare() wrote it, or behind the partials.
  Result<PlacedPlan> place_plan(const SplitPlan& plan, const DecodeArgs& args, void* stream) const {
    if (const auto placed = static_plan(plan)) return *placed;
    if (args.plan_memory != nullptr) return PlacedPlan{.rows = image_params(plan, args.plan_memory)};
    const std::size_t behind_partials =
        std::min(round_up(wavefill::workspace_bytes(plan), kImageAlignment), args.workspace_size_bytes);
    auto* memory = static_cast<std::byte*>(args.workspace) + behind_partials;
    WAVEFILL_RETURN_IF_ERROR(check_plan_memory(
        plan, memory, args.workspace == nullptr ? 0 : args.workspace_size_bytes - behind_partials,
        plan_image_bytes(plan)));
    WAVEFILL_RETURN_IF_ERROR(write_image(plan, memory, stream));
    return PlacedPlan{.rows = image_params(plan, memory)};
  }

  static Status check_plan_memory(const SplitPlan& plan, const void* memory, std::size_t size_bytes,
                                  std::size_t needed_bytes) {
    if (memory == nullptr || size_bytes < needed_bytes) {
      return make_status(StatusCode::resource_exhausted,
                         "memory for the plan is {} bytes; allowed: >= {} for {} work items",
                         memory == nullptr ? 0 : size_bytes, needed_bytes, plan.items.size());
    }
    if (reinterpret_cast<std::uintptr_t>(memory) % kImageAlignment == 0) return {};
    return invalid_argument("memory for the plan is at {}; allowed: a multiple of {} bytes", memory,
                            kImageAlignment);
  }

  Status write_image(const SplitPlan& plan, void* memory, void* stream) const {
    const std::size_t num_words = plan_image_bytes(plan) / sizeof(std::int32_t);
    for (std::size_t begin = 0; begin < num_words; begin += kUploadWords) {
      const std::size_t count = std::min<std::size_t>(kUploadWords, num_words - begin);
      UploadParams params;
      params.destination = static_cast<std::int32_t*>(memory) + begin;
      params.count = static_cast<std::int32_t>(count);
      copy_plan_image(plan, begin, std::span(params.words, count));
      WAVEFILL_RETURN_IF_ERROR(launch(context(stream), upload_function(), 1, &params));
    }
    return {};
  }

  Status run_placed(const SplitPlan& plan, const PlacedPlan& placed, const DecodeArgs& args,
                    void* stream) const {
    const auto row = find(plan.kernel);
    if (!row.ok()) return row.status();
    auto params = split_params(plan, args);
    if (!params.ok()) return params.status();
    if (args.check_indices) WAVEFILL_RETURN_IF_ERROR(check_indices(*params, args.shape, stream));
    const SplitKernel& kernel = (*row)->kernel;
    if (merges_in_workers(**row, plan, placed.rows)) {
      params->plan = placed.rows;
      params->merge = {.partials = static_cast<WarpPartial*>(args.workspace),
                       .call = next_call_.fetch_add(1, std::memory_order_relaxed)};
      return launch(context(stream), kernel.of_neighbours, plan.num_workers(), &*params);
    }
    const auto launch_clusters = [&](const PlanParams& rows) {
      params->plan = rows;
      return launch(context(stream), kernel.of_clusters, rows.num_items, &*params, rows.num_splits);
    };
    if (!plan.batch_invariant && merges_in_cluster(**row, placed.rows)) return launch_clusters(placed.rows);
    params->plan = placed.rows;
    WAVEFILL_RETURN_IF_ERROR(launch(context(stream), kernel.kernel, num_ctas(plan, placed.rows), &*params));
    if (placed.cluster_rows) return launch_clusters(*placed.cluster_rows);
    if (plan.num_partials() == 0) return {};
    const CombineParams combine{.output = params->output, .plan = placed.rows};
    const CombineLaunch of_plan =
        combine_launch(args.shape.rows(), args.shape.num_heads, plan.num_partials(), device_.num_sms);
    return launch(context(stream), of_plan.function, of_plan.num_ctas, &combine);
  }

  // Waits for the stream: an error that is to be returned has to be known.
  Status check_indices(const SplitParams& params, const DecodeShape& shape, void* stream) const {
    const auto cuda_stream = static_cast<cudaStream_t>(stream);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaStreamIsCapturing(cuda_stream, &capture));
    if (capture != cudaStreamCaptureStatusNone) {
      return invalid_argument("check_indices is true while the stream is captured; allowed: false");
    }
    static std::mutex check_mutex;  // the flag is one a device
    const std::scoped_lock lock(check_mutex);
    std::int32_t* flag = bad_index_flag();
    if (flag == nullptr) return to_status(cudaGetLastError(), "cudaGetSymbolAddress");
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(flag, 0, sizeof(*flag), cuda_stream));
    const CheckIndicesParams check{
        .caches = {params.caches[0], params.caches[1]}, .s_q = params.output.s_q, .found = flag};
    const LaunchContext serial{.stream = stream, .dependent_launch = false};
    WAVEFILL_RETURN_IF_ERROR(launch(serial, check_indices_function(), shape.rows(), &check));
    std::int32_t found = 0;
    WAVEFILL_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(&found, flag, sizeof(found), cudaMemcpyDeviceToHost, cuda_stream));
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(cuda_stream));
    if (found == 0) return {};
    return invalid_argument("an index is at or beyond its pool; allowed: < {} (main), < {} (extra)",
                            params.caches[0].num_tokens, params.caches[1].num_tokens);
  }

  int ordinal_;
  mutable std::atomic<std::uint64_t> next_call_;
  DeviceSpec device_;
  std::vector<TableRow> table_;
  std::vector<KernelSpec> specs_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend(int ordinal) {
  auto device = cuda::query_device(ordinal);
  if (!device.ok()) return device.status();
  const cuda::DeviceScope scope(ordinal);
  WAVEFILL_RETURN_IF_ERROR(scope.status());
  auto table = cuda::make_kernel_table(*device);
  if (!table.ok()) return table.status();
  return std::unique_ptr<Backend>(
      std::make_unique<CudaBackend>(ordinal, *std::move(device), *std::move(table)));
}

}  // namespace wavefill
