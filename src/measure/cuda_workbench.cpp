// Timing on a GPU: CUDA graphs of calls over index sets that are used in turn, on tensors that have left the
// L2 cache since their last use.
#include "measure/cuda_workbench.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "backend_cuda/cuda_status.h"
#include "core/math.h"
#include "measure/cuda_graphs.h"
#include "measure/cuda_tensors.h"
#include "measure/device_buffer.h"
#include "measure/gpu_watch.h"
#include "measure/rotating_cache.h"
#include "measure/rotation_tensors.h"
#include "measure/statistics.h"
#include "measure/system.h"
#include "measure/timers.h"
#include "oracle/inputs.h"
#include "oracle/oracle.h"
#include "runtime/kernel_choice.h"

namespace wavefill {
namespace {

constexpr std::int64_t kMinPoolBytes = 1LL << 30;           // and no less where that is more than cold needs
constexpr std::int64_t kCopyBytes = std::int64_t{1} << 30;  // for the copy bandwidth
constexpr int kCopies = 7;

// A plan being timed. Graph i has the calls of index sets i * num_sets / num_graphs on.
struct TimedPlan {
  SplitPlan plan;
  DeviceBuffer workspace;
  DeviceBuffer memory;
  std::vector<CudaGraph> graphs;
};

class CudaWorkbench final : public Workbench {
 public:
  CudaWorkbench(std::unique_ptr<Backend> backend, const WorkbenchOptions& options, const char* pci_bus_id)
      : backend_(std::move(backend)), options_(options), watch_(pci_bus_id) {}

  Status create() { return stopwatch_.create(); }

  const DeviceSpec& device() const override { return backend_->device(); }
  Result<KernelSpec> kernel_for(const DecodeShape& shape) const override;
  Result<std::vector<KernelSpec>> kernels_for(const DecodeShape& shape) const override;
  std::string timing() const override { return "CUDA graphs, full lengths, rotating index sets"; }
  Environment environment() override;
  Result<Bandwidth> bandwidth() override;
  Result<Rotation> prepare(const DecodeShape& shape) override;
  Result<VerifyOutcome> verify(const SplitPlan& plan) override;
  Result<double> time_calls(const SplitPlan& plan, std::int32_t calls) override;
  void begin_watch() override { watch_begin_ = watch_.read(); }
  WatchReport end_watch() override { return judge(watch_begin_, watch_.read()); }
  double now_us() override { return monotonic_us(); }

 private:
  // One cache: its pool and index sets on the host, and the copies that are timed.
  struct Cache {
    RotatingCache host;
    DeviceBuffer pool;
    DeviceBuffer indices;
    std::int64_t pool_copied = 0;  // which of host.pools_made()
  };

  Result<RotationLimits> limits() const;
  Status prepare_cache(Cache& cache, const DecodeShape& shape, const KvCacheView& pattern,
                       const RotatingCache::Options& options);
  SparseCache device_view(const Cache& cache, std::int32_t set) const;
  std::int32_t first_set(std::int32_t graph) const {
    return static_cast<std::int32_t>(std::int64_t{graph} * rotation_.num_sets / num_graphs_);
  }

  Result<TimedPlan*> timed_plan(const SplitPlan& plan);
  DecodeArgs args_for(const TimedPlan& timed, std::int32_t set) const;
  Status capture(TimedPlan& timed, std::int32_t graph);

  std::unique_ptr<Backend> backend_;
  WorkbenchOptions options_;
  GpuWatch watch_;
  GpuReadings watch_begin_;
  CudaStopwatch stopwatch_;
  std::optional<oracle::Inputs> inputs_;
  CudaTensors tensors_;                         // q, sink and outputs of what is timed
  std::optional<oracle::Reference> reference_;  // of index set 0, made when first needed
  Cache main_;
  Cache extra_;
  Rotation rotation_;
  std::vector<std::unique_ptr<TimedPlan>> timed_;
  std::int32_t num_graphs_ = 1;
  std::int32_t next_graph_ = 0;
};

Result<KernelSpec> CudaWorkbench::kernel_for(const DecodeShape& shape) const {
  const auto kernels = select_kernels(*backend_, options_.kernel);
  if (!kernels.ok()) return kernels.status();
  const auto kernel = choose_kernel(*backend_, *kernels, shape);
  if (!kernel.ok()) return kernel.status();
  return **kernel;
}

Result<std::vector<KernelSpec>> CudaWorkbench::kernels_for(const DecodeShape& shape) const {
  const auto first = kernel_for(shape);
  if (!first.ok()) return first.status();
  const auto kernels = select_kernels(*backend_, options_.kernel);
  if (!kernels.ok()) return kernels.status();
  std::vector<KernelSpec> fitting;
  for (const KernelSpec& kernel : *kernels) {
    if (backend_->supports(kernel, shape).ok()) fitting.push_back(kernel);
  }
  return fitting;
}

Environment CudaWorkbench::environment() {
  Environment environment = describe_environment(device());
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    environment.set("cuda_runtime", fmt::format("{}.{}", version / 1000, version % 1000 / 10));
  }
  watch_.describe(environment);
  return environment;
}

Result<Bandwidth> CudaWorkbench::bandwidth() {
  DeviceBuffer source;
  DeviceBuffer target;
  WAVEFILL_RETURN_IF_ERROR(source.reserve(kCopyBytes));
  WAVEFILL_RETURN_IF_ERROR(target.reserve(kCopyBytes));
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaMemset(source.as(), 1, kCopyBytes));
  std::vector<double> gbps;
  for (int i = 0; i <= kCopies; ++i) {
    const auto us = stopwatch_.time([&] {
      return cuda::to_status(cudaMemcpyAsync(target.as(), source.as(), kCopyBytes, cudaMemcpyDeviceToDevice,
                                             stopwatch_.stream()),
                             "cudaMemcpyAsync");
    });
    if (!us.ok()) return us.status();
    if (i > 0) gbps.push_back(2.0 * static_cast<double>(kCopyBytes) / *us * 1e-3);  // the first warms up
  }
  Bandwidth result;
  result.copy_gbps = median(gbps);
  result.best_copy_gbps = std::ranges::max(gbps);
  result.buffer_bytes = kCopyBytes;
  result.beyond_cache = kCopyBytes >= kColdFactor * device().l2_bytes;
  return result;
}

Result<RotationLimits> CudaWorkbench::limits() const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  const auto ours = static_cast<std::int64_t>(main_.pool.size_bytes() + extra_.pool.size_bytes());
  std::int64_t affordable = (static_cast<std::int64_t>(free_bytes) + ours) / kMemoryShare;
  if (const std::int64_t host = available_memory_bytes(); host > 0) {
    affordable = std::min(affordable, (host + ours) / kMemoryShare);  // the pool is made there
  }
  return RotationLimits{
      .page_size = RotatingCache::kPageSize,
      .extra_page_size = RotatingCache::kPageSize,
      .cache_bytes = options_.cache_bytes > 0 ? options_.cache_bytes : device().l2_bytes,
      .min_pool_bytes = options_.min_pool_bytes > 0 ? options_.min_pool_bytes : kMinPoolBytes,
      .max_pool_bytes = options_.max_pool_bytes > 0 ? options_.max_pool_bytes : affordable};
}

Status CudaWorkbench::prepare_cache(Cache& cache, const DecodeShape& shape, const KvCacheView& pattern,
                                    const RotatingCache::Options& options) {
  WAVEFILL_RETURN_IF_ERROR(cache.host.prepare(shape, pattern, options));
  if (options.topk == 0) return {};
  const KvCacheView kv = cache.host.view(0).kv;
  if (cache.pool_copied != cache.host.pools_made()) {
    WAVEFILL_RETURN_IF_ERROR(
        cache.pool.copy_from(kv.data, static_cast<std::size_t>(kv.num_pages * kv.page_stride_bytes)));
    cache.pool_copied = cache.host.pools_made();
  }
  return cache.indices.copy_from(cache.host.indices().data(), cache.host.indices().size_bytes());
}

SparseCache CudaWorkbench::device_view(const Cache& cache, std::int32_t set) const {
  SparseCache view = cache.host.view(set);
  if (view.kv.data == nullptr) return view;
  const std::int64_t at = view.indices.data - cache.host.indices().data();
  view.kv.data = cache.pool.as<const std::byte>();
  view.indices.data = cache.indices.as<const std::int32_t>() + at;
  return view;
}

Result<Rotation> CudaWorkbench::prepare(const DecodeShape& shape) {
  WAVEFILL_RETURN_IF_ERROR(kernel_for(shape).status());
  const auto room = limits();
  if (!room.ok()) return room.status();
  const auto rotation = plan_rotation(shape, *room);
  if (!rotation.ok()) return rotation;
  timed_.clear();
  reference_.reset();
  inputs_.emplace(pattern_pool(shape, options_.seed));
  WAVEFILL_RETURN_IF_ERROR(tensors_.copy_from(*inputs_));
  const DecodeArgs pattern = inputs_->args();
  WAVEFILL_RETURN_IF_ERROR(
      prepare_cache(main_, shape, pattern.main.kv, main_cache_options(shape, *rotation, options_.seed)));
  WAVEFILL_RETURN_IF_ERROR(
      prepare_cache(extra_, shape, pattern.extra.kv, extra_cache_options(shape, *rotation, options_.seed)));
  rotation_ = *rotation;
  num_graphs_ = num_graphs(rotation_.num_sets);
  next_graph_ = 0;
  return rotation_;
}

Result<TimedPlan*> CudaWorkbench::timed_plan(const SplitPlan& plan) {
  if (!inputs_) return make_status(StatusCode::internal, "nothing was prepared to run on");
  for (const auto& timed : timed_) {
    if (timed->plan == plan) return timed.get();
  }
  auto timed = std::make_unique<TimedPlan>();
  timed->plan = plan;
  timed->graphs.resize(static_cast<std::size_t>(num_graphs_));
  WAVEFILL_RETURN_IF_ERROR(timed->workspace.reserve(workspace_bytes(plan)));
  WAVEFILL_RETURN_IF_ERROR(timed->memory.reserve(backend_->plan_memory_bytes(plan)));
  WAVEFILL_RETURN_IF_ERROR(
      backend_->prepare(plan, timed->memory.as(), timed->memory.size_bytes(), stopwatch_.stream()));
  const DecodeArgs args = args_for(*timed, 0);
  WAVEFILL_RETURN_IF_ERROR(check_run(*backend_, plan, args));
  timed_.push_back(std::move(timed));
  return timed_.back().get();
}

DecodeArgs CudaWorkbench::args_for(const TimedPlan& timed, std::int32_t set) const {
  DecodeArgs args = tensors_.args();
  args.main = device_view(main_, set);
  args.extra = device_view(extra_, set);
  args.workspace = timed.workspace.as();
  args.workspace_size_bytes = timed.workspace.size_bytes();
  args.plan_memory = timed.memory.as<const void>();
  return args;
}

Result<VerifyOutcome> CudaWorkbench::verify(const SplitPlan& plan) {
  const auto timed = timed_plan(plan);
  if (!timed.ok()) return timed.status();
  DecodeArgs host = inputs_->args();
  host.main = main_.host.view(0);
  host.extra = extra_.host.view(0);
  if (!reference_) reference_ = oracle::reference(host);
  WAVEFILL_RETURN_IF_ERROR(tensors_.poison_outputs());
  WAVEFILL_RETURN_IF_ERROR(backend_->run(plan, args_for(**timed, 0), stopwatch_.stream()));
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stopwatch_.stream()));
  WAVEFILL_RETURN_IF_ERROR(tensors_.fetch_outputs());
  const oracle::Comparison comparison = oracle::compare(*reference_, host);
  return VerifyOutcome{.passed = comparison.passed,
                       .max_o_error = comparison.max_o_error,
                       .max_lse_error = comparison.max_lse_error,
                       .message = comparison.first_failure};
}

Status CudaWorkbench::capture(TimedPlan& timed, std::int32_t graph) {
  CudaGraph& captured = timed.graphs[static_cast<std::size_t>(graph)];
  if (captured.is_captured()) return {};
  return captured.capture(stopwatch_.stream(), [&]() -> Status {
    for (std::int32_t set = first_set(graph); set < first_set(graph + 1); ++set) {
      WAVEFILL_RETURN_IF_ERROR(backend_->run(timed.plan, args_for(timed, set), stopwatch_.stream()));
    }
    return {};
  });
}

// Whole graphs, at least `calls` in all.
Result<double> CudaWorkbench::time_calls(const SplitPlan& plan, std::int32_t calls) {
  if (calls < 1) return invalid_argument("calls is {}; allowed: >= 1", calls);
  const auto timed = timed_plan(plan);
  if (!timed.ok()) return timed.status();
  std::vector<std::int32_t> graphs;
  std::int64_t num_calls = 0;
  while (num_calls < calls) {
    graphs.push_back(next_graph_);
    num_calls += first_set(next_graph_ + 1) - first_set(next_graph_);
    next_graph_ = (next_graph_ + 1) % num_graphs_;
  }
  for (const std::int32_t graph : graphs) WAVEFILL_RETURN_IF_ERROR(capture(**timed, graph));
  const auto us = stopwatch_.time([&]() -> Status {
    for (const std::int32_t graph : graphs) {
      WAVEFILL_RETURN_IF_ERROR((*timed)->graphs[static_cast<std::size_t>(graph)].launch(stopwatch_.stream()));
    }
    return {};
  });
  if (!us.ok()) return us.status();
  return *us / static_cast<double>(num_calls);
}

}  // namespace

Result<std::unique_ptr<Workbench>> make_cuda_workbench(std::unique_ptr<Backend> backend,
                                                       const WorkbenchOptions& options) {
  WAVEFILL_RETURN_IF_ERROR(select_kernels(*backend, options.kernel).status());
  const int ordinal = backend->memory_device();
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal));
  std::array<char, 32> bus_id{};
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), ordinal));
  auto workbench = std::make_unique<CudaWorkbench>(std::move(backend), options, bus_id.data());
  WAVEFILL_RETURN_IF_ERROR(workbench->create());
  return std::unique_ptr<Workbench>(std::move(workbench));
}

}  // namespace wavefill
