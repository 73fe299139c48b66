// What every GPU test starts from: the backend of device 0, or a skip where there is none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "backend_cuda/cuda_backend.h"
#include "backend_cuda/device_inputs.h"
#include "backend_cuda/kernel_table.h"
#include "wavefill/plan.h"

namespace wavefill::test {

class GpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = make_cuda_backend(0);
    if (made.ok()) {
      backend_ = *std::move(made);
    } else {
      why_not_ = made.status();
    }
  }
  static void TearDownTestSuite() { backend_.reset(); }

  void SetUp() override {
    if (backend_ != nullptr) return;
    ASSERT_EQ(why_not_.code(), StatusCode::unavailable) << why_not_.message();
    GTEST_SKIP() << "no GPU: " << why_not_.message();
  }

  static Backend& backend() { return *backend_; }

  // The row's instances, and what tokens it takes. Precondition: of backend().kernels().
  static cuda::SplitKernel split_kernel(const KernelSpec& kernel) {
    const auto kernels = cuda::all_split_kernels();
    return *std::ranges::find_if(kernels,
                                 [&](const cuda::SplitKernel& k) { return kernel.name == k.kernel.name; });
  }

  // For rows that have all of their tokens.
  static SplitPlan full_plan(const KernelSpec& kernel, const DecodeShape& shape, std::string_view setting,
                             bool batch_invariant = false) {
    return make_plan({.device = backend().device(),
                      .kernel = kernel,
                      .shape = shape,
                      .lengths = {},
                      .extra_lengths = {},
                      .setting = parse_setting(setting).value(),
                      .cost_model = {},
                      .batch_invariant = batch_invariant})
        .value();
  }

 private:
  static inline std::unique_ptr<Backend> backend_;
  static inline Status why_not_;
};

}  // namespace wavefill::test
