// Choosing a row of the kernel table, on a backend that is picky.
#include "runtime/kernel_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"

namespace wavefill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Kernel "few" takes up to 16 heads, "many" from 32 on.
class PickyBackend : public Backend {
 public:
  PickyBackend() {
    device_.name = "picky";
    kernels_.resize(2);
    kernels_[0].name = "few";
    kernels_[1].name = "many";
  }
  const DeviceSpec& device() const override { return device_; }
  std::span<const KernelSpec> kernels() const override { return kernels_; }
  Status supports(const KernelSpec& kernel, const DecodeShape& shape) const override {
    if (shape.kv_format == KvFormat::bf16) {
      return make_status(StatusCode::unsupported, "kv_format is bf16; supported: dsv4");
    }
    if (kernel.name == "few" && shape.num_heads > 16) {
      return make_status(StatusCode::unsupported, "num_heads is {}; supported: 1..16", shape.num_heads);
    }
    if (kernel.name == "many" && shape.num_heads < 32) {
      return make_status(StatusCode::unsupported, "num_heads is {}; supported: 32..128", shape.num_heads);
    }
    return {};
  }
  Status run(const SplitPlan&, const DecodeArgs&, void*) const override { return {}; }

 private:
  DeviceSpec device_;
  std::vector<KernelSpec> kernels_;
};

std::string chosen(std::string_view name, const DecodeShape& shape) {
  const PickyBackend backend;
  const auto kernels = select_kernels(backend, name);
  const auto kernel = choose_kernel(backend, *kernels, shape);
  return kernel.ok() ? (*kernel)->name : std::string(to_string(kernel.status().code()));
}

TEST(KernelChoice, TakesTheFirstThatSupportsTheShape) {
  EXPECT_EQ(chosen("", {.num_heads = 16, .topk = 1}), "few");
  EXPECT_EQ(chosen("", {.num_heads = 32, .topk = 1}), "many");
  EXPECT_EQ(chosen("", {.num_heads = 24, .topk = 1}), "unsupported");
}

TEST(KernelChoice, AKernelAskedForIsNeverReplacedByAnother) {
  EXPECT_EQ(chosen("many", {.num_heads = 64, .topk = 1}), "many");
  EXPECT_EQ(chosen("many", {.num_heads = 16, .topk = 1}), "unsupported");
}

TEST(KernelChoice, GivesEveryReasonOnce) {
  const PickyBackend backend;
  const Status heads = choose_kernel(backend, backend.kernels(), {.num_heads = 24, .topk = 1}).status();
  EXPECT_EQ(heads.message(),
            "no kernel of picky takes this shape: num_heads is 24; supported: 1..16; num_heads is 24; "
            "supported: 32..128");
  const Status format =
      choose_kernel(backend, backend.kernels(), {.kv_format = KvFormat::bf16, .topk = 1}).status();
  EXPECT_EQ(format.message(), "no kernel of picky takes this shape: kv_format is bf16; supported: dsv4");
}

TEST(KernelChoice, AShapeNobodyCouldTakeIsInvalidNotUnsupported) {
  EXPECT_EQ(chosen("", {.num_heads = 129}), "invalid_argument");
}

TEST(KernelChoice, AnUnknownNameListsTheTable) {
  const PickyBackend backend;
  const Status status = select_kernels(backend, "fast").status();
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'fast'"), HasSubstr("picky"), HasSubstr("few, many")));
}

}  // namespace
}  // namespace wavefill
