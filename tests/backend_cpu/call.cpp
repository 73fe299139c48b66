#include "backend_cpu/call.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace wavefill::test {
namespace {

constexpr std::align_val_t kAlignment{256};

}  // namespace

Setting setting_of(const char* text) {
  const Result<Setting> setting = parse_setting(text);
  if (!setting.ok()) {
    ADD_FAILURE() << setting.status().message();
    std::abort();
  }
  return *setting;
}

SplitPlan plan_of(const Backend& backend, const KernelSpec& kernel, const oracle::Inputs& inputs,
                  const DecodeShape& shape, const Setting& setting, bool batch_invariant) {
  PlanRequest request;
  request.device = backend.device();
  request.kernel = kernel;
  request.shape = shape;
  request.lengths = inputs.row_lengths();
  request.extra_lengths = inputs.extra_row_lengths();
  request.setting = setting;
  request.batch_invariant = batch_invariant;
  Result<SplitPlan> plan = make_plan(request);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.status().message();
    std::abort();
  }
  return std::move(plan).value();
}

Workspace::Workspace(std::size_t bytes)
    : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new(bytes, kAlignment))) {
  poison();
}

void Workspace::Free::operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }

void Workspace::poison() { std::memset(memory_.get(), 0xFF, bytes_); }

void Workspace::attach(DecodeArgs& args) const {
  args.workspace = memory_.get();
  args.workspace_size_bytes = bytes_;
}

Status run(const Backend& backend, const SplitPlan& plan, oracle::Inputs& inputs, DecodeArgs args) {
  const Workspace workspace(workspace_bytes(plan));
  workspace.attach(args);
  inputs.poison_outputs();
  if (Status status = check_run(backend, plan, args); !status.ok()) return status;
  return backend.run(plan, args, nullptr);
}

}  // namespace wavefill::test
