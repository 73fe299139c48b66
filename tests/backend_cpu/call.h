// A planned call with its workspace: what the tests of this folder run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "oracle/inputs.h"
#include "wavefill/plan.h"

namespace wavefill::test {

// `text` as for --policy; fails the process on a typing error.
Setting setting_of(const char* text);

SplitPlan plan_of(const Backend& backend, const KernelSpec& kernel, const oracle::Inputs& inputs,
                  const DecodeShape& shape, const Setting& setting, bool batch_invariant = false);

// 256-byte aligned memory of exactly `bytes`, filled with NaN.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes);
  void attach(DecodeArgs& args) const;
  void poison();

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

// check_run() and run() on poisoned outputs and workspace.
Status run(const Backend& backend, const SplitPlan& plan, oracle::Inputs& inputs, DecodeArgs args);

}  // namespace wavefill::test
