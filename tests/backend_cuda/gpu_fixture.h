// What every GPU test starts from: the backend of device 0, or a skip where there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "backend_cuda/cuda_backend.h"
#include "backend_cuda/device_inputs.h"

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

 private:
  static inline std::unique_ptr<Backend> backend_;
  static inline Status why_not_;
};

}  // namespace wavefill::test
