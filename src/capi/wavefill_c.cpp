// The C functions: check handles, convert, call the runtime, return a code.
#include "wavefill/wavefill_c.h"

#include <memory>
#include <string>

#include "capi/convert.h"
#include "capi/errors.h"
#include "capi/versioned.h"
#include "core/errors.h"
#include "kv/token_codec.h"
#include "wavefill/decoder.h"
#include "wavefill/version.h"

struct wf_decoder {
  wavefill::Decoder decoder;
  std::string setting;
};

struct wf_plan {
  wavefill::SplitPlan plan;
  std::size_t workspace_bytes;  // of the decoder that made it, and so is the next
  std::size_t memory_bytes;
};

namespace wavefill::capi {
namespace {

static_assert(WF_OK == static_cast<int>(StatusCode::ok));
static_assert(WF_INVALID_ARGUMENT == static_cast<int>(StatusCode::invalid_argument));
static_assert(WF_UNSUPPORTED == static_cast<int>(StatusCode::unsupported));
static_assert(WF_NOT_FOUND == static_cast<int>(StatusCode::not_found));
static_assert(WF_CORRUPT_DATA == static_cast<int>(StatusCode::corrupt_data));
static_assert(WF_MISMATCH == static_cast<int>(StatusCode::mismatch));
static_assert(WF_RESOURCE_EXHAUSTED == static_cast<int>(StatusCode::resource_exhausted));
static_assert(WF_UNAVAILABLE == static_cast<int>(StatusCode::unavailable));
static_assert(WF_INTERNAL == static_cast<int>(StatusCode::internal));
static_assert(WF_KV_FP8_TILE64_ROPE_BF16_FOOTER == static_cast<int>(KvFormat::fp8_tile64_rope_bf16_footer));
static_assert(WF_KV_FP8_TILE128_ROPE_BF16_INLINE == static_cast<int>(KvFormat::fp8_tile128_rope_bf16_inline));
static_assert(WF_KV_BF16 == static_cast<int>(KvFormat::bf16));

Status check_not_null(const char* name, const void* pointer) {
  if (pointer == nullptr) return invalid_argument("{} is NULL; allowed: a valid pointer", name);
  return {};
}

// NULL with 0 is "none given". A pointer with 0, or NULL with a count, is a slip, and planning for the full
// width in its place would hide it.
Result<std::span<const std::int32_t>> to_span(const char* name, const std::int32_t* data, std::size_t size) {
  if ((data == nullptr) != (size == 0)) {
    return invalid_argument("{} is {} with num_{} {}; allowed: NULL with 0, or batch * s_q values", name,
                            data == nullptr ? "NULL" : "given", name, size);
  }
  return std::span(data, size);
}

Status create_decoder(const wf_decoder_options* options, wf_decoder** out) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", out));
  const Result<DecoderOptions> converted = to_options(options);
  if (!converted.ok()) return converted.status();
  Result<Decoder> decoder = Decoder::create(*converted);
  if (!decoder.ok()) return decoder.status();
  std::string setting = to_string(decoder->setting());
  *out = new wf_decoder{.decoder = *std::move(decoder), .setting = std::move(setting)};
  return {};
}

Status create_plan(const wf_decoder* decoder, const wf_shape* shape,
                   const Result<std::span<const std::int32_t>>& lengths,
                   const Result<std::span<const std::int32_t>>& extra_lengths, wf_plan** out) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
  WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", out));
  WAVEFILL_RETURN_IF_ERROR(lengths.status());
  WAVEFILL_RETURN_IF_ERROR(extra_lengths.status());
  const Result<DecodeShape> converted = to_shape(shape);
  if (!converted.ok()) return converted.status();
  Result<SplitPlan> plan = decoder->decoder.plan(*converted, *lengths, *extra_lengths);
  if (!plan.ok()) return plan.status();
  const std::size_t workspace_bytes = decoder->decoder.workspace_bytes(*plan);
  const std::size_t memory_bytes = decoder->decoder.plan_memory_bytes(*plan);
  *out =
      new wf_plan{.plan = *std::move(plan), .workspace_bytes = workspace_bytes, .memory_bytes = memory_bytes};
  return {};
}

Status write_device(const wf_decoder* decoder, wf_device_info* info) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
  WAVEFILL_RETURN_IF_ERROR(check_size("info", info, sizeof(wf_device_info)));
  const DeviceSpec& device = decoder->decoder.device();
  write_versioned({.struct_size = 0,
                   .name = device.name.c_str(),
                   .num_sms = device.num_sms,
                   .compute_capability = device.compute_capability,
                   .l2_bytes = device.l2_bytes,
                   .memory_bandwidth_gbps = device.memory_bandwidth_gbps},
                  info);
  return {};
}

// The text of wf_profile_counters::last_miss: the decoder's own may change under a reader's eyes.
thread_local std::string t_last_miss;

Status write_counters(const wf_decoder* decoder, wf_profile_counters* counters) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
  WAVEFILL_RETURN_IF_ERROR(check_size("counters", counters, sizeof(wf_profile_counters)));
  ProfileCounters counted = decoder->decoder.profile_counters();
  t_last_miss = std::move(counted.last_miss);
  write_versioned({.struct_size = 0,
                   .hits = counted.hits,
                   .rounded_up = counted.rounded_up,
                   .misses = counted.misses,
                   .fallbacks = counted.fallbacks,
                   .last_miss = t_last_miss.c_str()},
                  counters);
  return {};
}

Status write_stats(const wf_plan* plan, wf_plan_stats* stats) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", plan));
  WAVEFILL_RETURN_IF_ERROR(check_size("stats", stats, sizeof(wf_plan_stats)));
  const WaveStats waves = wave_stats(plan->plan);
  write_versioned({.struct_size = 0,
                   .num_ctas = waves.num_ctas,
                   .num_waves = waves.num_waves,
                   .num_splits_total = waves.num_splits_total,
                   .num_partials = plan->plan.num_partials(),
                   .max_tiles_per_slot = waves.max_tiles_per_slot,
                   .num_splits = waves.num_splits,
                   .wave_efficiency = waves.wave_efficiency},
                  stats);
  return {};
}

Status run(const wf_decoder* decoder, const wf_plan* plan, const wf_shape* shape, const wf_decode_args* args,
           void* stream) {
  WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
  WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", plan));
  const Result<DecodeShape> converted = to_shape(shape);
  if (!converted.ok()) return converted.status();
  const Result<DecodeArgs> decode_args = to_args(*converted, args);
  if (!decode_args.ok()) return decode_args.status();
  return decoder->decoder.run(plan->plan, *decode_args, stream);
}

}  // namespace
}  // namespace wavefill::capi

using namespace wavefill;
using namespace wavefill::capi;

// library_version() and to_string() give literals, so their views end in a null character.
const char* wf_version(void) { return library_version().data(); }

const char* wf_code_name(int code) { return to_string(static_cast<StatusCode>(code)).data(); }

const char* wf_last_error(void) { return last_error(); }

int wf_parse_kv_format(const char* name, int32_t* kv_format) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("name", name));
    WAVEFILL_RETURN_IF_ERROR(check_not_null("kv_format", kv_format));
    const Result<KvFormat> format = parse_kv_format(name);
    if (format.ok()) *kv_format = static_cast<int32_t>(*format);
    return format.status();
  });
}

int wf_min_page_stride_bytes(int32_t kv_format, int32_t d_qk, int32_t page_size, int64_t* stride_bytes) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("stride_bytes", stride_bytes));
    const Result<KvFormat> format = to_kv_format("kv_format", kv_format);
    if (!format.ok()) return format.status();
    WAVEFILL_RETURN_IF_ERROR(check_d_qk(*format, d_qk));
    if (page_size < 1) return invalid_argument("page_size is {}; allowed: >= 1", page_size);
    *stride_bytes = min_page_stride_bytes(*format, d_qk, page_size);
    return {};
  });
}

int wf_decoder_create(const wf_decoder_options* options, wf_decoder** decoder) {
  return guarded([&] { return create_decoder(options, decoder); });
}

void wf_decoder_destroy(wf_decoder* decoder) { delete decoder; }

int wf_decoder_device(const wf_decoder* decoder, wf_device_info* info) {
  return guarded([&] { return write_device(decoder, info); });
}

int wf_decoder_setting(const wf_decoder* decoder, const char** setting) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
    WAVEFILL_RETURN_IF_ERROR(check_not_null("setting", setting));
    *setting = decoder->setting.c_str();
    return {};
  });
}

int wf_decoder_profile_counters(const wf_decoder* decoder, wf_profile_counters* counters) {
  return guarded([&] { return write_counters(decoder, counters); });
}

int wf_decoder_supports(const wf_decoder* decoder, const wf_shape* shape) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
    const Result<DecodeShape> converted = to_shape(shape);
    return converted.ok() ? decoder->decoder.supports(*converted) : converted.status();
  });
}

int wf_plan_create(const wf_decoder* decoder, const wf_shape* shape, const int32_t* lengths,
                   size_t num_lengths, const int32_t* extra_lengths, size_t num_extra_lengths,
                   wf_plan** plan) {
  return guarded([&] {
    return create_plan(decoder, shape, to_span("lengths", lengths, num_lengths),
                       to_span("extra_lengths", extra_lengths, num_extra_lengths), plan);
  });
}

void wf_plan_destroy(wf_plan* plan) { delete plan; }

int wf_plan_workspace_bytes(const wf_plan* plan, size_t* workspace_bytes) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", plan));
    WAVEFILL_RETURN_IF_ERROR(check_not_null("workspace_bytes", workspace_bytes));
    *workspace_bytes = plan->workspace_bytes;
    return {};
  });
}

int wf_plan_memory_bytes(const wf_plan* plan, size_t* memory_bytes) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", plan));
    WAVEFILL_RETURN_IF_ERROR(check_not_null("memory_bytes", memory_bytes));
    *memory_bytes = plan->memory_bytes;
    return {};
  });
}

int wf_decoder_prepare(const wf_decoder* decoder, const wf_plan* plan, void* memory, size_t memory_size_bytes,
                       void* stream) {
  return guarded([&]() -> Status {
    WAVEFILL_RETURN_IF_ERROR(check_not_null("decoder", decoder));
    WAVEFILL_RETURN_IF_ERROR(check_not_null("plan", plan));
    return decoder->decoder.prepare(plan->plan, memory, memory_size_bytes, stream);
  });
}

int wf_plan_get_stats(const wf_plan* plan, wf_plan_stats* stats) {
  return guarded([&] { return write_stats(plan, stats); });
}

int wf_set_contiguous_strides(const wf_shape* shape, wf_decode_args* args) {
  return guarded([&]() -> Status {
    const Result<DecodeShape> converted = to_shape(shape);
    return converted.ok() ? set_contiguous_strides(*converted, args) : converted.status();
  });
}

int wf_decoder_run(const wf_decoder* decoder, const wf_plan* plan, const wf_shape* shape,
                   const wf_decode_args* args, void* stream) {
  return guarded([&] { return run(decoder, plan, shape, args, stream); });
}
