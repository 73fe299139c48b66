// What one call of CPU attention costs, per kernel and shape.
#include <benchmark/benchmark.h>

#include <memory>
#include <new>

#include "backend_cpu/cpu_backend.h"
#include "oracle/inputs.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

// DeepSeek-V4-Flash, one layer with window and compressed cache.
constexpr int kTopk = 128;
constexpr int kExtraTopk = 512;
// Index sets over a pool of some 150 MiB: more than a core's own caches, whatever the shared one holds.
constexpr std::int64_t kPoolTokens = 1 << 17;
constexpr int kIndexSets = 32;
constexpr std::align_val_t kAlignment{256};

void attend(benchmark::State& state, const std::string& kernel_name) {
  const auto backend = std::move(make_cpu_backend(0)).value();
  const DecodeShape shape = {.batch = static_cast<std::int32_t>(state.range(0)),
                             .num_heads = static_cast<std::int32_t>(state.range(1)),
                             .topk = kTopk,
                             .extra_topk = kExtraTopk};
  oracle::PoolSpec spec;
  spec.shape = shape;
  spec.pool_tokens = spec.extra_pool_tokens = kPoolTokens;
  spec.num_index_sets = kIndexSets;
  oracle::Inputs inputs(spec);
  PlanRequest request;
  request.device = backend->device();
  request.shape = shape;
  request.setting = std::move(parse_setting("balanced")).value();
  for (const KernelSpec& kernel : backend->kernels()) {
    if (kernel.name == kernel_name) request.kernel = kernel;
  }
  const SplitPlan plan = std::move(make_plan(request)).value();
  const std::size_t bytes = workspace_bytes(plan);
  void* workspace = ::operator new(bytes, kAlignment);
  std::int32_t set = 0;
  for (auto _ : state) {
    DecodeArgs args = inputs.args(set++ % kIndexSets);
    args.workspace = workspace;
    args.workspace_size_bytes = bytes;
    if (const Status status = backend->run(plan, args, nullptr); !status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
  }
  ::operator delete(workspace, kAlignment);
  state.SetItemsProcessed(state.iterations() * shape.rows());
  state.SetBytesProcessed(state.iterations() * inputs.kv_bytes_per_set());
}

}  // namespace
}  // namespace wavefill

int main(int argc, char** argv) {
  const auto backend = std::move(wavefill::make_cpu_backend(0)).value();
  for (const wavefill::KernelSpec& kernel : backend->kernels()) {
    benchmark::RegisterBenchmark((kernel.name + "/batch/heads").c_str(), wavefill::attend, kernel.name)
        ->ArgsProduct({{1, 16}, {8, 64}})
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
