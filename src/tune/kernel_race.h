// Which row of the kernel table to tune, from times of a few settings of each at a few batches.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "measure/records.h"
#include "tune/decision.h"
#include "tune/tuner.h"
#include "wavefill/plan.h"

namespace wavefill {

class KernelRace {
 public:
  // The kernels in the table's order, which decides between equals.
  explicit KernelRace(std::vector<KernelSpec> kernels)
      : kernels_(std::move(kernels)), failures_(kernels_.size()) {}

  // Up to `most` of the batches that have weight, spread over them; the middle one and the ends first.
  static std::vector<std::int32_t> batches_for(std::span<const std::int32_t> batches,
                                               const std::vector<WorkloadWeight>& workload, std::size_t most);

  // What a kernel's setting is called in records.
  std::string name_of(std::size_t kernel, const std::string& setting) const;

  const std::vector<KernelSpec>& kernels() const { return kernels_; }
  bool is_out(std::size_t kernel) const { return !failures_[kernel].empty(); }

  // `name` as made by name_of(); others are left out.
  void add(std::int32_t batch, const std::string& name, std::span<const double> us);
  // A kernel that was wrong once is out, however fast it is.
  void add(const Verification& verification);

  // The best setting of each kernel at each batch, and which kernel has the highest weighted throughput by
  // them. If the first of the table is within noise of it, that one; the first if nothing is known.
  std::vector<KernelResult> results(const std::vector<WorkloadWeight>& workload, double least_noise) const;

 private:
  struct Best {
    std::string setting;
    double us = 0.0;
    double noise = 0.0;  // half the relative interval of the median
  };
  std::size_t kernel_of(const std::string& name) const;  // kernels_.size(): none
  std::map<std::int32_t, Best> best_of(std::size_t kernel) const;

  std::vector<KernelSpec> kernels_;
  std::vector<std::string> failures_;
  std::map<std::tuple<std::size_t, std::int32_t, std::string>, std::vector<double>> us_;  // by setting
};

}  // namespace wavefill
