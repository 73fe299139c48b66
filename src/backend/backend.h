// The seam between what is decided (plans) and who does it (a CPU, a GPU).
#pragma once

#include <cstddef>
#include <span>

#include "wavefill/decode_args.h"
#include "wavefill/device.h"
#include "wavefill/plan.h"

namespace wavefill {

inline constexpr int kHostMemory = -1;

// A device that can run decode attention. Immutable after creation; const members are thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceSpec& device() const = 0;

  // The kernel table of this device, preferred first. Variants that cannot run here (too little shared
  // memory, wrong compute capability) are not in it.
  virtual std::span<const KernelSpec> kernels() const = 0;

  // ok, or unsupported with the parameter that `kernel` cannot take and the values it can.
  virtual Status supports(const KernelSpec& kernel, const DecodeShape& shape) const = 0;

  // Bytes that run() needs at args.workspace: the partials, and whatever else this device needs of `plan`
  // where args.plan_memory does not hold it. Here: the partials.
  virtual std::size_t workspace_bytes(const SplitPlan& plan) const;

  // Bytes of this device's memory in which prepare() lays `plan` ready; 0 where it travels with the call.
  virtual std::size_t plan_memory_bytes(const SplitPlan& plan) const;

  // Queues the writing of `plan` into `memory`, 16-byte aligned: made once a step, so that a call with
  // args.plan_memory = memory need not write it again. Does nothing where plan_memory_bytes(plan) is 0.
  // Errors: resource_exhausted (memory_size_bytes), invalid_argument (alignment), mismatch (kernel).
  virtual Status prepare(const SplitPlan& plan, void* memory, std::size_t memory_size_bytes,
                         void* stream) const;

  // Queues the making of a plan on the device, in `memory` of plan_memory_bytes(frame), from lengths that lie
  // there (null data: topk, extra_topk everywhere): the plan that make_plan() makes of the same lengths.
  // Calls that follow on the stream with args.plan_memory = memory and the same lengths run it. For captured
  // graphs. frame: of make_plan_frame(). Errors: unsupported (this device reads plans on the host),
  // invalid_argument (no frame), resource_exhausted (memory_size_bytes).
  virtual Status replan(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                        void* memory, std::size_t memory_size_bytes, void* stream) const;

  // The CUDA device in whose memory a call's tensors lie, or kHostMemory.
  virtual int memory_device() const;

  // Writes args.out and args.lse by the plan. Allocates nothing. `stream` is a cudaStream_t, ignored by
  // the CPU. Callers have had check_run() say ok.
  virtual Status run(const SplitPlan& plan, const DecodeArgs& args, void* stream) const = 0;
};

// What every backend checks before it runs: args are valid, the plan was made for this device, a kernel
// of its table and this shape, and the workspace suffices. Errors: mismatch (both values),
// invalid_argument, resource_exhausted.
Status check_run(const Backend& backend, const SplitPlan& plan, const DecodeArgs& args);

}  // namespace wavefill
