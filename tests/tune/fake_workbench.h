// A device whose times are known: what the tuner should find is then known as well. Its clock is simulated,
// so a tune of a minute takes milliseconds, the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "measure/workbench.h"
#include "tune/tuner.h"

namespace wavefill::testing {

class FakeWorkbench : public Workbench {
 public:
  FakeWorkbench();

  // What may be changed before tuning.
  DeviceSpec device_spec;
  KernelSpec kernel;
  std::vector<KernelSpec> other_kernels;                    // that run every shape too, later in the table
  std::function<double(const SplitPlan&)> true_us;          // default: waves_us
  double noise = 0.005;                                     // relative standard deviation of a burst
  std::function<double(double now_us)> drift;               // factor on all times; default: 1
  std::function<bool(const SplitPlan&)> is_wrong;           // default: never
  std::function<bool(std::int32_t round)> is_contaminated;  // counts every watched round; default: never
  std::function<double(double now_us)> clock_mhz;           // as watched; default: not said
  std::function<double(std::int32_t batch)> prepare_us;     // default: no time
  double verify_us = 1000.0;
  bool warm = false;
  std::uint64_t seed = 1;

  // What happened.
  std::int64_t calls = 0;  // time_calls
  std::int64_t verified = 0;
  std::int32_t rounds = 0;

  const DeviceSpec& device() const override { return device_spec; }
  Result<KernelSpec> kernel_for(const DecodeShape& shape) const override;
  Result<std::vector<KernelSpec>> kernels_for(const DecodeShape& shape) const override;
  std::string timing() const override { return "simulated"; }
  Environment environment() override;
  Result<Rotation> prepare(const DecodeShape& shape) override;
  Result<VerifyOutcome> verify(const SplitPlan& plan) override;
  Result<double> time_calls(const SplitPlan& plan, std::int32_t calls_in_burst) override;
  void begin_watch() override {}
  WatchReport end_watch() override;
  double now_us() override { return clock_us_; }

 protected:
  double clock_us_ = 0.0;

 private:
  std::mt19937_64 generator_{1};
  std::uint64_t seeded_with_ = 0;
};

// 100 us a kv tile on the busiest slot, and 30 us for combining anything.
double waves_us(const SplitPlan& plan);

// The number of splits of a plan.
std::int32_t splits_of(const SplitPlan& plan);

class TestProgress : public Progress {
 public:
  std::vector<ProgressUpdate> updates;
  std::function<bool()> cancel;

  void update(const ProgressUpdate& update) override { updates.push_back(update); }
  bool cancelled() const override { return cancel && cancel(); }
};

// 8 heads, 128 + 512 tokens: 10 kv tiles a row, one head tile.
TuneRequest request_for(std::vector<std::int32_t> batches);

}  // namespace wavefill::testing
