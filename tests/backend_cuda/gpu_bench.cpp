// Times split kernels on a GPU by plan: a CUDA graph of one call per index set over pools of 2M tokens, 9
// replays after 2, settings interleaved, medians. One CSV line a (shape, batch, kernel, setting).
//
//   gpu_bench --format dsv4 --heads 64,16 --topk 128 --extra-topk 512 --batch 1,64 --settings
//   fixed=1,balanced
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend_cuda/bench_tensors.h"
#include "backend_cuda/cuda_backend.h"
#include "backend_cuda/device_inputs.h"
#include "core/bf16.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

constexpr int kWarmReplays = 2;
constexpr int kReplays = 9;

std::vector<std::string> split_text(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  for (const std::string& part : split_text(text)) values.push_back(std::stoi(part));
  return values;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--format") options.format = parse_kv_format(value).value();
    if (name == "--heads") options.heads = numbers(value);
    if (name == "--batch") options.batches = numbers(value);
    if (name == "--settings") options.settings = split_text(value);
    if (name == "--kernel") options.kernel = value;
    if (name == "--indices") options.indices = value;
    if (name == "--topk") options.topk = std::stoi(value);
    if (name == "--extra-topk") options.extra_topk = std::stoi(value);
  }
  return options;
}

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

// One thing to time: a plan, its memory and its captured graph.
class Candidate {
 public:
  Candidate(const Backend& backend, const Pool& pool, SplitPlan plan, cudaStream_t stream)
      : plan_(std::move(plan)),
        workspace_(workspace_bytes(plan_)),
        plan_memory_(backend.plan_memory_bytes(plan_)),
        sets_(pool.num_sets(plan_.shape.batch)) {
    check(backend.prepare(plan_, plan_memory_.as(), plan_memory_.bytes(), stream));
    check_cuda(cudaStreamSynchronize(stream));
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int set = 0; set < sets_; ++set) {
      DecodeArgs args = pool.args(plan_.shape, set);
      args.workspace = workspace_.as();
      args.workspace_size_bytes = workspace_.bytes();
      args.plan_memory = plan_memory_.as<const std::byte>();
      check(check_run(backend, plan_, args));
      check(backend.run(plan_, args, stream));
    }
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream, &graph));
    check_cuda(cudaGraphInstantiate(&graph_, graph, 0));
    check_cuda(cudaGraphDestroy(graph));
  }
  ~Candidate() { (void)cudaGraphExecDestroy(graph_); }
  Candidate(const Candidate&) = delete;

  // Microseconds a call.
  double replay(cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end) const {
    check_cuda(cudaEventRecord(begin, stream));
    check_cuda(cudaGraphLaunch(graph_, stream));
    check_cuda(cudaEventRecord(end, stream));
    check_cuda(cudaEventSynchronize(end));
    float ms = 0.0F;
    check_cuda(cudaEventElapsedTime(&ms, begin, end));
    return static_cast<double>(ms) * 1e3 / sets_;
  }

  const SplitPlan& plan() const { return plan_; }
  std::vector<double> times_us;
  double difference = 0.0;  // of the output from the first candidate's, relative

 private:
  SplitPlan plan_;
  DeviceBuffer workspace_;
  DeviceBuffer plan_memory_;
  int sets_;
  cudaGraphExec_t graph_ = nullptr;
};

double relative_difference(const std::vector<Bf16Bits>& a, const std::vector<Bf16Bits>& b) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = bf16_to_float(a[i]);
    const double y = bf16_to_float(b[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

class Timer {
 public:
  Timer() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check_cuda(cudaEventCreate(&begin));
    check_cuda(cudaEventCreate(&end));
  }
  ~Timer() {
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    (void)cudaStreamDestroy(stream);
  }
  Timer(const Timer&) = delete;

  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

using Candidates = std::vector<std::unique_ptr<Candidate>>;

// Adds each setting of one kernel that makes a plan of its own, and runs it once.
void add_candidates(Candidates& candidates, std::vector<Bf16Bits>& first, const Backend& backend,
                    const Pool& pool, const Options& options, const KernelSpec& kernel,
                    const DecodeShape& shape, const Timer& timer) {
  std::vector<SplitPlan> seen;
  for (const std::string& setting : options.settings) {
    auto plan = make_plan({.device = backend.device(),
                           .kernel = kernel,
                           .shape = shape,
                           .lengths = {},
                           .extra_lengths = {},
                           .setting = parse_setting(setting).value(),
                           .cost_model = {},
                           .batch_invariant = false});
    check(plan.status());
    const auto is_same = [&](const SplitPlan& other) { return other.items == plan->items; };
    if (std::ranges::any_of(seen, is_same)) continue;
    seen.push_back(*plan);
    candidates.push_back(std::make_unique<Candidate>(backend, pool, *std::move(plan), timer.stream));
    candidates.back()->replay(timer.stream, timer.begin, timer.end);
    const std::vector<Bf16Bits> out = pool.fetch_out(shape);
    if (first.empty()) first = out;
    candidates.back()->difference = relative_difference(out, first);
  }
}

void print(const Candidate& candidate) {
  const SplitPlan& plan = candidate.plan();
  const WaveStats stats = wave_stats(plan);
  std::printf("%s,%d,%d,%d,%d,%s,%d,%s,%lld,%lld,%.2f,%.2f,%.2f,%.1e\n",
              short_name(plan.shape.kv_format).data(), plan.shape.num_heads, plan.shape.topk,
              plan.shape.extra_topk, plan.shape.batch, plan.kernel.name.c_str(), plan.kernel.ctas_per_sm,
              to_string(plan.setting).c_str(), static_cast<long long>(stats.num_splits_total),
              static_cast<long long>(stats.num_ctas), candidate.times_us[kReplays / 2],
              candidate.times_us.front(), candidate.times_us.back(), candidate.difference);
}

void bench_shape(const Backend& backend, const Pool& pool, const Options& options, int heads, int batch,
                 const Timer& timer) {
  const DecodeShape shape = pool.shape(heads, batch);
  Candidates candidates;
  std::vector<Bf16Bits> first;
  for (const KernelSpec& kernel : backend.kernels()) {
    if (kernel.name.find(options.kernel) == std::string::npos) continue;
    if (!backend.supports(kernel, shape).ok()) continue;
    add_candidates(candidates, first, backend, pool, options, kernel, shape, timer);
  }
  for (int replay = 0; replay < kWarmReplays + kReplays; ++replay) {
    for (const auto& candidate : candidates) {
      const double us = candidate->replay(timer.stream, timer.begin, timer.end);
      if (replay >= kWarmReplays) candidate->times_us.push_back(us);
    }
  }
  for (const auto& candidate : candidates) {
    std::ranges::sort(candidate->times_us);
    print(*candidate);
  }
  std::fflush(stdout);
}

int run(const Options& options) {
  auto backend = make_cuda_backend(0);
  check(backend.status());
  const Timer timer;
  const Pool pool(options);
  std::printf(
      "format,heads,topk,extra_topk,batch,kernel,ctas_per_sm,setting,splits_total,ctas,us,us_min,us_max,"
      "difference\n");
  for (const int heads : options.heads) {
    for (const int batch : options.batches) bench_shape(**backend, pool, options, heads, batch, timer);
  }
  return 0;
}

}  // namespace
}  // namespace wavefill::test

int main(int argc, char** argv) {
  try {
    return wavefill::test::run(wavefill::test::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
