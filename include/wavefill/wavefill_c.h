/* The C interface: the decoder of wavefill/decoder.h with handles, plain structs and integer codes.
 *
 * Every function that can fail returns a code, WF_OK or what went wrong; wf_last_error() then has the
 * message. No exception and no signal leaves the library. Outputs are written on success only.
 *
 * Structs that may grow begin with struct_size, which the caller sets to sizeof; the *_INIT macros (C99
 * designated initialisers) do, and leave 0 or NULL elsewhere unless said. New fields come last, and 0 in them
 * means what it meant before they were there: a caller built against an older header passes a smaller size
 * and gets that; one built against a newer header is refused if it sets a field that this library does not
 * know.
 *
 *   wf_decoder* decoder = NULL;
 *   wf_plan* plan = NULL;
 *   wf_decoder_options options = WF_DECODER_OPTIONS_INIT;
 *   options.device = "cpu";
 *   if (wf_decoder_create(&options, &decoder) != WF_OK) { puts(wf_last_error()); return 1; }
 *   wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan);      once a step
 *   wf_decoder_run(decoder, plan, &shape, &args, NULL);            for every layer
 */
#ifndef WAVEFILL_WAVEFILL_C_H
#define WAVEFILL_WAVEFILL_C_H

#include <stddef.h>
#include <stdint.h>

#include "wavefill/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes, equal to wavefill::StatusCode. */
enum {
  WF_OK = 0,
  WF_INVALID_ARGUMENT = 1,
  WF_UNSUPPORTED = 2,
  WF_NOT_FOUND = 3,
  WF_CORRUPT_DATA = 4,
  WF_MISMATCH = 5,
  WF_RESOURCE_EXHAUSTED = 6,
  WF_UNAVAILABLE = 7,
  WF_INTERNAL = 8
};

/* "0.1.0" */
WAVEFILL_API const char* wf_version(void);

/* "invalid_argument" and so on; "unknown" for other numbers. */
WAVEFILL_API const char* wf_code_name(int code);

/* What the last call of this thread that returned a code had to say: "" after WF_OK. Valid until the next
 * such call of this thread. */
WAVEFILL_API const char* wf_last_error(void);

/* KV formats, equal to wavefill::KvFormat. */
enum {
  WF_KV_FP8_TILE64_ROPE_BF16_FOOTER = 0,  /* "dsv4" */
  WF_KV_FP8_TILE128_ROPE_BF16_INLINE = 1, /* "dsv32" */
  WF_KV_BF16 = 2                          /* "bf16" */
};

/* Accepts the long name or its alias. */
WAVEFILL_API int wf_parse_kv_format(const char* name, int32_t* kv_format);

/* The least bytes from one page to the next. */
WAVEFILL_API int wf_min_page_stride_bytes(int32_t kv_format, int32_t d_qk, int32_t page_size,
                                          int64_t* stride_bytes);

typedef struct wf_decoder wf_decoder; /* const functions may be called from several threads */
typedef struct wf_plan wf_plan;       /* immutable */

typedef struct wf_decoder_options {
  size_t struct_size;
  const char* device;  /* "cpu", "cuda:0", "auto"; NULL = "auto" */
  const char* setting; /* "target-ctas=512", "balanced", ...; NULL = the environment's, else the default */
  const char* kernel;  /* of the kernel table; NULL = a profile's, else the first that takes the shape */
  int32_t num_threads; /* CPU only; 0 = all hardware threads */
  int32_t batch_invariant; /* 0 or 1 */
  /* Where a profile has nothing for a call: plan by this setting instead, counted. NULL = the miss is an
   * error. */
  const char* fallback;
} wf_decoder_options;
#define WF_DECODER_OPTIONS_INIT \
  { .struct_size = sizeof(wf_decoder_options) }

/* options: NULL = all defaults. The decoder is the caller's, to wf_decoder_destroy(). */
WAVEFILL_API int wf_decoder_create(const wf_decoder_options* options, wf_decoder** decoder);
WAVEFILL_API void wf_decoder_destroy(wf_decoder* decoder); /* NULL is allowed */

typedef struct wf_device_info {
  size_t struct_size;
  const char* name; /* lives as long as the decoder */
  int32_t num_sms;  /* worker threads on a CPU */
  int32_t compute_capability;
  int64_t l2_bytes;
  double memory_bandwidth_gbps; /* 1e9 bytes/s; 0 = unknown */
} wf_device_info;
#define WF_DEVICE_INFO_INIT \
  { .struct_size = sizeof(wf_device_info) }

WAVEFILL_API int wf_decoder_device(const wf_decoder* decoder, wf_device_info* info);

/* The setting in force, "target-ctas=512"; lives as long as the decoder. */
WAVEFILL_API int wf_decoder_setting(const wf_decoder* decoder, const char** setting);

/* What became of the calls to wf_plan_create() under a measured setting; all 0 without one. */
typedef struct wf_profile_counters {
  size_t struct_size;
  uint64_t hits;         /* the batch had an entry of its own */
  uint64_t rounded_up;   /* served by the entry of the next larger batch */
  uint64_t misses;       /* nothing for this key or batch */
  uint64_t fallbacks;    /* misses that options.fallback served */
  const char* last_miss; /* why: names the field, or the batch; "" = no miss. Valid until the next
                          * wf_decoder_profile_counters() of this thread */
} wf_profile_counters;
#define WF_PROFILE_COUNTERS_INIT \
  { .struct_size = sizeof(wf_profile_counters) }

/* Since the decoder was created; may be asked while other threads plan. */
WAVEFILL_API int wf_decoder_profile_counters(const wf_decoder* decoder, wf_profile_counters* counters);

typedef struct wf_shape {
  size_t struct_size;
  int32_t batch;      /* requests, >= 1 */
  int32_t s_q;        /* query tokens a request, >= 1 */
  int32_t num_heads;  /* 1..128 */
  int32_t kv_format;  /* WF_KV_... */
  int32_t d_qk;       /* 512 or 576, as the format has it */
  int32_t topk;       /* index columns into the main cache, >= 0 */
  int32_t extra_topk; /* index columns into the extra cache, >= 0; 0 = none */
  int32_t reserved;   /* 0 */
} wf_shape;
#define WF_SHAPE_INIT                                                                                      \
  {                                                                                                        \
    .struct_size = sizeof(wf_shape), .batch = 1, .s_q = 1, .num_heads = 64,                                \
    .kv_format = WF_KV_FP8_TILE64_ROPE_BF16_FOOTER, .d_qk = 512, .topk = 0, .extra_topk = 0, .reserved = 0 \
  }

/* WF_OK, or WF_UNSUPPORTED with the parameter no kernel here takes and the values it does. */
WAVEFILL_API int wf_decoder_supports(const wf_decoder* decoder, const wf_shape* shape);

/* lengths, extra_lengths: [batch * s_q] on the host, or NULL with 0: topk / extra_topk everywhere. They are
 * copied. The plan is the caller's, to wf_plan_destroy(). */
WAVEFILL_API int wf_plan_create(const wf_decoder* decoder, const wf_shape* shape, const int32_t* lengths,
                                size_t num_lengths, const int32_t* extra_lengths, size_t num_extra_lengths,
                                wf_plan** plan);
WAVEFILL_API void wf_plan_destroy(wf_plan* plan); /* NULL is allowed */

/* What wf_decoder_run() needs of the decoder that made the plan; 0 where rows are whole and alike. */
WAVEFILL_API int wf_plan_workspace_bytes(const wf_plan* plan, size_t* workspace_bytes);

/* Device memory in which wf_decoder_prepare() lays the plan ready: once a step, for every layer's call with
 * args.plan_memory. 0 where it travels with the call, as on a CPU; then nothing needs to be prepared. */
WAVEFILL_API int wf_plan_memory_bytes(const wf_plan* plan, size_t* memory_bytes);
WAVEFILL_API int wf_decoder_prepare(const wf_decoder* decoder, const wf_plan* plan, void* memory,
                                    size_t memory_size_bytes, void* stream);

typedef struct wf_plan_stats {
  size_t struct_size;
  int64_t num_ctas;
  int64_t num_waves;
  int64_t num_splits_total;   /* over rows */
  int64_t num_partials;       /* 0 where no row is split */
  int64_t max_tiles_per_slot; /* kv tiles of the busiest slot */
  int32_t num_splits;         /* the most splits any row has */
  double wave_efficiency;     /* 0..1 */
} wf_plan_stats;
#define WF_PLAN_STATS_INIT \
  { .struct_size = sizeof(wf_plan_stats) }

WAVEFILL_API int wf_plan_get_stats(const wf_plan* plan, wf_plan_stats* stats);

/* Strided views. Strides count elements; the innermost dimension is contiguous. These do not grow. */
typedef struct wf_query {
  const uint16_t* data; /* bf16 [batch, s_q, num_heads, d_qk] */
  int64_t stride_batch;
  int64_t stride_s_q;
  int64_t stride_head;
} wf_query;

typedef struct wf_output {
  uint16_t* data; /* bf16 [batch, s_q, num_heads, 512] */
  int64_t stride_batch;
  int64_t stride_s_q;
  int64_t stride_head;
} wf_output;

typedef struct wf_lse {
  float* data; /* fp32 [batch, s_q, num_heads], natural log, sink excluded; NULL = not wanted */
  int64_t stride_batch;
  int64_t stride_s_q;
  int64_t stride_head;
} wf_lse;

typedef struct wf_sparse_cache {
  const void* data; /* [num_pages] pages of page_size tokens */
  int64_t num_pages;
  int64_t page_stride_bytes;
  int32_t page_size; /* tokens a page, >= 1 */

  const int32_t* indices; /* [batch, s_q, topk]: page * page_size + offset; negative = no token */
  int64_t indices_stride_batch;
  int64_t indices_stride_s_q;

  const int32_t* lengths; /* [batch, s_q], leading columns that count; NULL = all */
  int64_t lengths_stride_batch;
  int64_t lengths_stride_s_q;
} wf_sparse_cache;

typedef struct wf_decode_args {
  size_t struct_size;
  wf_query q;
  wf_sparse_cache main;
  wf_sparse_cache extra; /* ignored where shape.extra_topk is 0 */
  const float* sink;     /* fp32 [num_heads], natural-log logits; NULL = no sink */
  wf_output out;
  wf_lse lse;
  void* workspace; /* wf_plan_workspace_bytes(), 256-byte aligned; NULL where that is 0 */
  size_t workspace_size_bytes;
  float sm_scale;        /* > 0; 512^-0.5 for DeepSeek-V4 */
  int32_t check_indices; /* 1: an index at or beyond the pool is an error; 0: undefined */
  const void*
      plan_memory; /* where wf_decoder_prepare() wrote the plan, 16-byte aligned; NULL: the call carries it */
} wf_decode_args;

#define WF_DECODE_ARGS_INIT \
  { .struct_size = sizeof(wf_decode_args) }

/* Sets every stride of q, indices, lengths, out and lse to that of a freshly allocated tensor of `shape`;
 * pointers and pages stay as they are. */
WAVEFILL_API int wf_set_contiguous_strides(const wf_shape* shape, wf_decode_args* args);

/* Writes args->out and args->lse. stream: a cudaStream_t, ignored by the CPU. WF_MISMATCH if the plan was
 * made for another device, kernel or shape, with both values; WF_RESOURCE_EXHAUSTED if the workspace is
 * too small. */
WAVEFILL_API int wf_decoder_run(const wf_decoder* decoder, const wf_plan* plan, const wf_shape* shape,
                                const wf_decode_args* args, void* stream);

#ifdef __cplusplus
}
#endif

#endif
