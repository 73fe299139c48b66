// The decoder that users hold: pick a device, plan once a step, run for every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wavefill/decode_args.h"
#include "wavefill/device.h"
#include "wavefill/export.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

class Backend;  // src/backend/backend.h

struct DecoderOptions {
  std::string device = "auto";          // "cpu", "cuda:0", or "auto": the GPU if there is one, else the CPU
  std::int32_t num_threads = 0;         // CPU only; 0 = all hardware threads
  std::optional<Setting> setting = {};  // absent: the environment's override, else the default policy
  // A name of the kernel table. Empty: the one that a measured setting's profile is of, else the first that
  // takes the shape.
  std::string kernel = {};
  bool batch_invariant = false;
  // Where a profile has nothing for a call: plan by this instead, counted. Absent: the miss is an error.
  std::optional<Setting> fallback = {};
};

// What became of the calls to plan() under a measured setting.
struct ProfileCounters {
  std::uint64_t hits = 0;        // the batch had an entry of its own
  std::uint64_t rounded_up = 0;  // served by the entry of the next larger batch
  std::uint64_t misses = 0;      // nothing for this key or batch
  std::uint64_t fallbacks = 0;   // misses that DecoderOptions::fallback served
  std::string last_miss;         // why: names the field, or the batch

  friend bool operator==(const ProfileCounters&, const ProfileCounters&) = default;
};

// Not copyable; movable. Const member functions may be called from several threads.
class WAVEFILL_API Decoder {
 public:
  // Reads WAVEFILL_TARGET_CTAS, SGLANG_SM120_MMA_TARGET_CTAS, WAVEFILL_NUM_SPLITS and WAVEFILL_PROFILE
  // unless options.setting is given. Errors: invalid_argument (a malformed variable, named),
  // not_found (device, kernel), unavailable (no driver).
  static Result<Decoder> create(const DecoderOptions& options = {});

  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  const DeviceSpec& device() const;
  const Setting& setting() const;
  ProfileCounters profile_counters() const;  // since creation; all 0 without a measured setting
  std::vector<KernelSpec> kernels() const;

  // ok, or why no kernel here can run `shape`: unsupported, naming the parameter and supported values.
  Status supports(const DecodeShape& shape) const;

  // lengths, extra_lengths: [rows] on the host, or empty for topk / extra_topk everywhere.
  // A measured setting is used only for what its profile was measured for: anything else is the error of
  // Profile::lookup(), which names the field, and never another policy in its place unless
  // DecoderOptions::fallback names one.
  Result<SplitPlan> plan(const DecodeShape& shape, std::span<const std::int32_t> lengths = {},
                         std::span<const std::int32_t> extra_lengths = {}) const;

  // Bytes that run() needs at args.workspace, 256-byte aligned: the partials, and on a GPU the plan itself
  // where its rows are cut unlike. 0 where rows are whole and alike.
  std::size_t workspace_bytes(const SplitPlan& plan) const;

  // Device memory in which prepare() lays `plan` ready; 0 where it travels with the call, as on a CPU.
  std::size_t plan_memory_bytes(const SplitPlan& plan) const;

  // Queues the writing of `plan` into `memory` (16-byte aligned): once a step, for every layer's call with
  // args.plan_memory = memory. Without it, each call writes the plan into its workspace.
  // Errors: resource_exhausted (memory_size_bytes), invalid_argument (alignment), mismatch.
  Status prepare(const SplitPlan& plan, void* memory, std::size_t memory_size_bytes,
                 void* stream = nullptr) const;

  // For lengths that change inside a captured graph: the frame of all plans of `shape` is planned once, and
  // replan() makes the plan on the device, from lengths that lie there (null data: topk, extra_topk
  // everywhere), in `memory` of plan_memory_bytes(frame). Calls queued behind it with the frame,
  // args.plan_memory = memory and the same lengths run that plan; it equals plan() of those lengths.
  // Errors: unsupported (a setting other than balanced, batch_invariant, the CPU), invalid_argument,
  // resource_exhausted.
  Result<SplitPlan> plan_frame(const DecodeShape& shape) const;
  Status replan(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                void* memory, std::size_t memory_size_bytes, void* stream = nullptr) const;

  // Writes args.out and args.lse. Allocates nothing. stream: a cudaStream_t, ignored by the CPU.
  // Errors: mismatch (the plan was made for something else; gives both values), invalid_argument,
  // resource_exhausted (workspace).
  Status run(const SplitPlan& plan, const DecodeArgs& args, void* stream = nullptr) const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavefill
