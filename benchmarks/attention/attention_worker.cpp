// Times attention on request: what scripts/compare_pytorch.py alternates with PyTorch. Reads commands from
// standard input, one a line, and answers each with one line:
//   run N   N calls over index sets in turn: their times in microseconds
//   amx     the rate of the matrix unit at this moment in Gflop/s; 0 without AMX
//   peak    the cores' own peaks: "fp32_gflops amx_bf16_gflops copy_gbps read_gbps"
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string>

#include "backend_cpu/cpu_backend.h"
#include "measure/bandwidth.h"
#include "oracle/inputs.h"
#include "peak.h"
#include "wavefill/plan.h"

namespace wavefill::bench {
namespace {

struct Options {
  DecodeShape shape{.batch = 16, .num_heads = 64, .topk = 128, .extra_topk = 512};
  std::string kv_format = "dsv4";
  std::string kernel;
  std::string setting = "efficiency";
  std::int32_t num_threads = 0;
  std::int64_t pool_tokens = 1 << 19;
  std::int32_t num_index_sets = 64;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "attention_worker: %s\n", message.c_str());
  std::exit(2);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) fail(result.status().message());
  return std::move(result).value();
}

// One planned call and everything it needs.
class Attention {
 public:
  explicit Attention(const Options& options)
      : backend_(value_of(make_cpu_backend(options.num_threads))),
        inputs_({.shape = options.shape,
                 .pool_tokens = options.pool_tokens,
                 .extra_pool_tokens = options.pool_tokens,
                 .num_index_sets = options.num_index_sets,
                 .lengths = {},
                 .extra_lengths = {}}) {
    PlanRequest request;
    request.device = backend_->device();
    request.kernel = find_kernel(options.kernel);
    request.shape = options.shape;
    request.setting = value_of(parse_setting(options.setting));
    plan_ = value_of(make_plan(request));
    workspace_bytes_ = workspace_bytes(plan_);
    workspace_.reset(static_cast<std::byte*>(::operator new(workspace_bytes_, kAlignment)));
  }

  const SplitPlan& plan() const { return plan_; }
  const DeviceSpec& device() const { return backend_->device(); }
  std::int64_t kv_bytes() const { return inputs_.kv_bytes_per_set(); }

  double run_us() {
    DecodeArgs args = inputs_.args(next_set_++ % inputs_.num_index_sets());
    args.workspace = workspace_.get();
    args.workspace_size_bytes = workspace_bytes_;
    const auto begin = std::chrono::steady_clock::now();
    const Status status = backend_->run(plan_, args, nullptr);
    const auto end = std::chrono::steady_clock::now();
    if (!status.ok()) fail(status.message());
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  KernelSpec find_kernel(const std::string& name) const {
    for (const KernelSpec& kernel : backend_->kernels()) {
      if (name.empty() || kernel.name == name) return kernel;
    }
    fail("no kernel " + name + " on this machine");
  }

  std::unique_ptr<Backend> backend_;
  oracle::Inputs inputs_;
  SplitPlan plan_;
  std::size_t workspace_bytes_ = 0;
  std::unique_ptr<std::byte, Free> workspace_;
  std::int32_t next_set_ = 0;
};

void print_peak(int num_threads) {
  const Peak peak = measure_peak(num_threads);
  const Bandwidth bandwidth = value_of(measure_bandwidth({.num_threads = num_threads}));
  std::printf("%.1f %.1f %.2f %.2f\n", peak.fp32_gflops, peak.amx_bf16_gflops, bandwidth.best_copy_gbps,
              bandwidth.best_read_gbps);
}

void serve(Attention& attention) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    int count = 0;
    words >> command >> count;
    if (command == "run") {
      for (int call = 0; call < count; ++call) std::printf("%.2f ", attention.run_us());
      std::printf("\n");
    } else if (command == "amx") {
      std::printf("%.1f\n", amx_gflops_now(attention.device().num_sms));
    } else if (command == "peak") {
      print_peak(attention.device().num_sms);
    } else {
      fail("unknown command '" + line + "'; allowed: run N, amx, peak");
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace wavefill::bench

int main(int argc, char** argv) {
  using namespace wavefill;
  bench::Options options;
  CLI::App app("Times attention on request");
  app.add_option("--batch", options.shape.batch);
  app.add_option("--heads", options.shape.num_heads);
  app.add_option("--topk", options.shape.topk);
  app.add_option("--extra-topk", options.shape.extra_topk);
  app.add_option("--kv-format", options.kv_format);
  app.add_option("--kernel", options.kernel);
  app.add_option("--policy", options.setting);
  app.add_option("--threads", options.num_threads);
  app.add_option("--pool-tokens", options.pool_tokens, "Of each of the two caches");
  app.add_option("--index-sets", options.num_index_sets);
  CLI11_PARSE(app, argc, argv);
  options.shape.kv_format = bench::value_of(parse_kv_format(options.kv_format));
  options.shape.d_qk = default_d_qk(options.shape.kv_format);
  bench::Attention attention(options);
  std::printf("ready %s threads=%d kernel=%s partials=%lld kv_bytes=%lld\n", attention.device().name.c_str(),
              attention.device().num_sms, attention.plan().kernel.name.c_str(),
              static_cast<long long>(attention.plan().num_partials()),
              static_cast<long long>(attention.kv_bytes()));
  std::fflush(stdout);
  bench::serve(attention);
  return 0;
}
