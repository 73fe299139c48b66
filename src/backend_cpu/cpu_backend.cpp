#include "backend_cpu/cpu_backend.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <vector>

#include "backend_cpu/checks.h"
#include "backend_cpu/cpu_info.h"
#include "backend_cpu/hand_over.h"
#include "backend_cpu/kernel_table.h"
#include "backend_cpu/partials.h"
#include "backend_cpu/work_item.h"
#include "core/errors.h"
#include "core/math.h"

namespace wavefill {
namespace {

using cpu::CpuKernel;
using cpu::WorkerScratch;

constexpr int kMaxThreads = 1024;

// Heads of a row that one combine task merges: few enough that a single row occupies several threads.
constexpr int kCombineHeads = 16;

// The scratch of one arena slot: a WorkerScratch with the kernel's memory behind it.
class SlotScratch {
 public:
  explicit SlotScratch(std::size_t kernel_bytes)
      : memory_(::operator new (kHeaderBytes + kernel_bytes, std::align_val_t{cpu::kCacheLineBytes})) {
    // Default- rather than value-initialised: its arrays are written before they are read.
    worker_ = new (memory_) WorkerScratch;
    worker_->kernel = static_cast<std::byte*>(memory_) + kHeaderBytes;
  }
  ~SlotScratch() { ::operator delete (memory_, std::align_val_t{cpu::kCacheLineBytes}); }
  SlotScratch(SlotScratch&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), worker_(other.worker_) {}
  SlotScratch& operator=(SlotScratch&&) = delete;

  WorkerScratch& worker() const { return *worker_; }

 private:
  static constexpr std::size_t kHeaderBytes = round_up(sizeof(WorkerScratch), cpu::kCacheLineBytes);
  static_assert(std::is_trivially_destructible_v<WorkerScratch>);

  void* memory_;
  WorkerScratch* worker_;
};

DeviceSpec describe(int num_threads) {
  DeviceSpec device;
  device.name = "cpu " + cpu::model_name();
  device.num_sms = num_threads;
  device.l2_bytes = cpu::last_level_cache_bytes();
  device.source = "the operating system";
  return device;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int num_threads)
      : device_(describe(num_threads)), kernels_(cpu::available_kernels()), arena_(num_threads) {
    std::size_t kernel_bytes = 0;
    for (const CpuKernel& kernel : kernels_) {
      specs_.push_back(kernel.spec);
      kernel_bytes = std::max(kernel_bytes, kernel.scratch_bytes);
    }
    for (int slot = 0; slot < num_threads; ++slot) scratch_.emplace_back(kernel_bytes);
    if (num_threads > cpu::hardware_threads()) {
      worker_limit_.emplace(tbb::global_control::max_allowed_parallelism, kMaxThreads);
    }
    arena_.initialize();
  }

  const DeviceSpec& device() const override { return device_; }
  std::span<const KernelSpec> kernels() const override { return specs_; }
  Status supports(const KernelSpec& kernel, const DecodeShape& shape) const override;
  Status run(const SplitPlan& plan, const DecodeArgs& args, void* stream) const override;

 private:
  const CpuKernel* find(const KernelSpec& spec) const;
  void run_items(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args) const;
  void run_combine(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args) const;

  // Calls body(task, scratch) once for each task in [0, num_tasks), on the threads of the arena. Tasks are
  // taken in order by whoever is free; which thread runs a task changes nothing in its result.
  template <typename Body>
  void for_each_task(std::int64_t num_tasks, const Body& body) const;

  DeviceSpec device_;
  std::vector<CpuKernel> kernels_;
  std::vector<KernelSpec> specs_;
  // A slot belongs to one thread while it is in the arena, whichever run() that thread works for, and no
  // task waits inside its body: so a slot's scratch has one user at a time.
  std::vector<SlotScratch> scratch_;
  // More threads than the machine has need oneTBB's limit raised: beyond it, oneTBB writes a warning to
  // stderr and gives fewer.
  std::optional<tbb::global_control> worker_limit_;
  mutable tbb::task_arena arena_;
};

const CpuKernel* CpuBackend::find(const KernelSpec& spec) const {
  const auto found =
      std::ranges::find_if(kernels_, [&spec](const CpuKernel& kernel) { return kernel.spec == spec; });
  return found == kernels_.end() ? nullptr : &*found;
}

Status CpuBackend::supports(const KernelSpec& kernel, const DecodeShape& shape) const {
  if (find(kernel) == nullptr) {
    return make_status(StatusCode::unsupported, "kernel {} is not in the kernel table of {}", kernel.name,
                       device_.name);
  }
  return validate(shape);
}

template <typename Body>
void CpuBackend::for_each_task(std::int64_t num_tasks, const Body& body) const {
  std::atomic<std::int64_t> next{0};
  const auto take_tasks = [&](int) {
    cpu::acquire_for_sanitizer();
    WorkerScratch& scratch =
        scratch_[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())].worker();
    for (std::int64_t task = next++; task < num_tasks; task = next++) body(task, scratch);
    cpu::release_to_sanitizer();
  };
  const auto num_takers = static_cast<int>(std::min<std::int64_t>(num_tasks, device_.num_sms));
  const auto take_all = [&] {
    cpu::acquire_for_sanitizer();
    if (num_takers <= 1) {
      take_tasks(0);
    } else {
      tbb::parallel_for(0, num_takers, take_tasks, tbb::static_partitioner{});
    }
    cpu::release_to_sanitizer();
  };
  cpu::release_to_sanitizer();
  arena_.execute(take_all);
  cpu::acquire_for_sanitizer();
}

void CpuBackend::run_items(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args) const {
  for_each_task(plan.num_workers(), [&](std::int64_t worker, WorkerScratch& scratch) {
    const auto at = static_cast<std::size_t>(worker);
    for (std::int32_t item = plan.worker_begin[at]; item < plan.worker_begin[at + 1]; ++item) {
      cpu::run_work_item(kernel, plan, args, plan.items[static_cast<std::size_t>(item)], scratch);
    }
  });
}

void CpuBackend::run_combine(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args) const {
  const std::int64_t groups = ceil_div(args.shape.num_heads, kCombineHeads);
  for_each_task(args.shape.rows() * groups, [&](std::int64_t task, WorkerScratch& scratch) {
    const auto row = static_cast<std::int32_t>(task / groups);
    const auto at = static_cast<std::size_t>(row);
    if (plan.row_partial_begin[at] == plan.row_partial_begin[at + 1]) return;
    const int begin = static_cast<int>(task % groups) * kCombineHeads;
    cpu::combine(kernel, plan, args, row, begin, std::min(begin + kCombineHeads, args.shape.num_heads),
                 scratch);
  });
}

Status CpuBackend::run(const SplitPlan& plan, const DecodeArgs& args, void* /*stream*/) const {
  const CpuKernel* kernel = find(plan.kernel);
  if (kernel == nullptr) return supports(plan.kernel, args.shape);
  WAVEFILL_RETURN_IF_ERROR(cpu::check_lengths(plan, args));
  if (args.check_indices) WAVEFILL_RETURN_IF_ERROR(cpu::check_indices(args));
  try {
    run_items(*kernel, plan, args);
    if (plan.num_partials() > 0) run_combine(*kernel, plan, args);
  } catch (const std::bad_alloc&) {
    return make_status(StatusCode::resource_exhausted, "no memory for the tasks of {} threads",
                       device_.num_sms);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(int num_threads) {
  if (num_threads < 0 || num_threads > kMaxThreads) {
    return invalid_argument("num_threads is {}; allowed: 0 (all hardware threads) to {}", num_threads,
                            kMaxThreads);
  }
  try {
    return std::unique_ptr<Backend>(
        std::make_unique<CpuBackend>(num_threads == 0 ? cpu::hardware_threads() : num_threads));
  } catch (const std::bad_alloc&) {
    return make_status(StatusCode::resource_exhausted, "no memory for the scratch of {} threads",
                       num_threads);
  }
}

}  // namespace wavefill
