/* The C interface from C11: errors of every kind, and a decode. */
#include "capi/c_checks.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) return "c_checks.c:" TEXT(__LINE__) ": not true: " #condition; \
  } while (0)

/* The code, and a part that the message must have. */
#define REQUIRE_ERROR(call, code, part)                                                          \
  do {                                                                                           \
    REQUIRE((call) == (code));                                                                   \
    if (strstr(wf_last_error(), part) == NULL)                                                   \
      return "c_checks.c:" TEXT(__LINE__) ": wf_last_error() of " #call " does not have " #part; \
  } while (0)

static wf_decoder* make_decoder(const char* setting, int32_t num_threads) {
  wf_decoder_options options = WF_DECODER_OPTIONS_INIT;
  wf_decoder* decoder = NULL;
  options.device = "cpu";
  options.setting = setting;
  options.num_threads = num_threads;
  return wf_decoder_create(&options, &decoder) == WF_OK ? decoder : NULL;
}

static wf_shape make_shape(int32_t batch) {
  wf_shape shape = WF_SHAPE_INIT;
  shape.batch = batch;
  shape.num_heads = 4;
  shape.topk = 256;
  return shape;
}

const char* check_names_and_sizes(void) {
  int32_t format = -1;
  int64_t stride = 0;
  REQUIRE(strcmp(wf_version(), "0.1.0") == 0);
  REQUIRE(strcmp(wf_code_name(WF_OK), "ok") == 0);
  REQUIRE(strcmp(wf_code_name(WF_MISMATCH), "mismatch") == 0);
  REQUIRE(strcmp(wf_code_name(-1), "unknown") == 0);
  REQUIRE(strcmp(wf_code_name(9), "unknown") == 0);

  REQUIRE(wf_parse_kv_format("dsv4", &format) == WF_OK);
  REQUIRE(format == WF_KV_FP8_TILE64_ROPE_BF16_FOOTER);
  REQUIRE(wf_parse_kv_format("fp8_tile128_rope_bf16_inline", &format) == WF_OK);
  REQUIRE(format == WF_KV_FP8_TILE128_ROPE_BF16_INLINE);
  REQUIRE_ERROR(wf_parse_kv_format("fp8", &format), WF_INVALID_ARGUMENT, "dsv4");
  REQUIRE_ERROR(wf_parse_kv_format("", &format), WF_INVALID_ARGUMENT, "''");
  REQUIRE(format == WF_KV_FP8_TILE128_ROPE_BF16_INLINE); /* failures write nothing */

  REQUIRE(wf_min_page_stride_bytes(WF_KV_FP8_TILE64_ROPE_BF16_FOOTER, 512, 64, &stride) == WF_OK);
  REQUIRE(stride == 37376);
  REQUIRE(wf_min_page_stride_bytes(WF_KV_BF16, 576, INT32_MAX, &stride) == WF_OK);
  REQUIRE(stride == (int64_t)1152 * INT32_MAX);
  REQUIRE_ERROR(wf_min_page_stride_bytes(3, 512, 64, &stride), WF_INVALID_ARGUMENT, "kv_format is 3");
  REQUIRE_ERROR(wf_min_page_stride_bytes(-1, 512, 64, &stride), WF_INVALID_ARGUMENT, "kv_format is -1");
  REQUIRE_ERROR(wf_min_page_stride_bytes(WF_KV_FP8_TILE64_ROPE_BF16_FOOTER, 576, 64, &stride),
                WF_INVALID_ARGUMENT, "d_qk is 576");
  REQUIRE_ERROR(wf_min_page_stride_bytes(WF_KV_BF16, 512, 0, &stride), WF_INVALID_ARGUMENT, "page_size is 0");
  return NULL;
}

const char* check_null_arguments(void) {
  wf_decoder* decoder = make_decoder("fixed=2", 1);
  const wf_shape shape = make_shape(2);
  wf_decode_args args = WF_DECODE_ARGS_INIT;
  wf_device_info info = WF_DEVICE_INFO_INIT;
  wf_plan_stats stats = WF_PLAN_STATS_INIT;
  wf_plan* plan = NULL;
  wf_profile_counters counters = WF_PROFILE_COUNTERS_INIT;
  wf_plan* no_plan = NULL;
  const int32_t lengths[2] = {1, 1};
  const char* setting = NULL;
  size_t bytes = 0;
  int32_t format = 0;
  REQUIRE(decoder != NULL);
  REQUIRE(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan) == WF_OK);

  REQUIRE_ERROR(wf_parse_kv_format(NULL, &format), WF_INVALID_ARGUMENT, "name is NULL");
  REQUIRE_ERROR(wf_parse_kv_format("dsv4", NULL), WF_INVALID_ARGUMENT, "kv_format is NULL");
  REQUIRE_ERROR(wf_min_page_stride_bytes(0, 512, 64, NULL), WF_INVALID_ARGUMENT, "stride_bytes is NULL");
  REQUIRE_ERROR(wf_decoder_create(NULL, NULL), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_device(NULL, &info), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_device(decoder, NULL), WF_INVALID_ARGUMENT, "info is NULL");
  REQUIRE_ERROR(wf_decoder_setting(NULL, &setting), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_setting(decoder, NULL), WF_INVALID_ARGUMENT, "setting is NULL");
  REQUIRE_ERROR(wf_decoder_profile_counters(NULL, &counters), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_profile_counters(decoder, NULL), WF_INVALID_ARGUMENT, "counters is NULL");
  REQUIRE_ERROR(wf_decoder_supports(NULL, &shape), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_supports(decoder, NULL), WF_INVALID_ARGUMENT, "shape is NULL");

  REQUIRE_ERROR(wf_plan_create(NULL, &shape, NULL, 0, NULL, 0, &no_plan), WF_INVALID_ARGUMENT, "decoder");
  REQUIRE_ERROR(wf_plan_create(decoder, NULL, NULL, 0, NULL, 0, &no_plan), WF_INVALID_ARGUMENT, "shape");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, NULL), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, NULL, 2, NULL, 0, &no_plan), WF_INVALID_ARGUMENT,
                "lengths is NULL with num_lengths 2");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, lengths, 0, NULL, 0, &no_plan), WF_INVALID_ARGUMENT,
                "lengths is given with num_lengths 0");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, NULL, 0, NULL, 2, &no_plan), WF_INVALID_ARGUMENT,
                "num_extra_lengths 2");
  REQUIRE(no_plan == NULL);

  REQUIRE_ERROR(wf_plan_workspace_bytes(NULL, &bytes), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_plan_workspace_bytes(plan, NULL), WF_INVALID_ARGUMENT, "workspace_bytes is NULL");
  REQUIRE_ERROR(wf_plan_memory_bytes(NULL, &bytes), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_plan_memory_bytes(plan, NULL), WF_INVALID_ARGUMENT, "memory_bytes is NULL");
  REQUIRE_ERROR(wf_decoder_prepare(NULL, plan, NULL, 0, NULL), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_prepare(decoder, NULL, NULL, 0, NULL), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_plan_get_stats(NULL, &stats), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_plan_get_stats(plan, NULL), WF_INVALID_ARGUMENT, "stats is NULL");
  REQUIRE_ERROR(wf_set_contiguous_strides(NULL, &args), WF_INVALID_ARGUMENT, "shape is NULL");
  REQUIRE_ERROR(wf_set_contiguous_strides(&shape, NULL), WF_INVALID_ARGUMENT, "args is NULL");
  REQUIRE_ERROR(wf_decoder_run(NULL, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "decoder is NULL");
  REQUIRE_ERROR(wf_decoder_run(decoder, NULL, &shape, &args, NULL), WF_INVALID_ARGUMENT, "plan is NULL");
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, NULL, &args, NULL), WF_INVALID_ARGUMENT, "shape is NULL");
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, NULL, NULL), WF_INVALID_ARGUMENT, "args is NULL");
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "q.data is null");

  wf_plan_destroy(plan);
  wf_decoder_destroy(decoder);
  wf_plan_destroy(NULL);
  wf_decoder_destroy(NULL);
  return NULL;
}

/* A caller built against a newer header, where wf_shape has one more field. */
typedef struct newer_shape {
  wf_shape known;
  int64_t field_of_the_future;
} newer_shape;

const char* check_struct_sizes(void) {
  wf_decoder* decoder = make_decoder("fixed=2", 1);
  newer_shape newer = {.known = make_shape(1), .field_of_the_future = 0};
  wf_shape shape = make_shape(1);
  wf_device_info info = WF_DEVICE_INFO_INIT;
  wf_plan_stats stats = {.struct_size = 0};
  wf_decoder_options options = {.struct_size = 1};
  wf_profile_counters counters = {.struct_size = 8};
  wf_decoder* no_decoder = NULL;
  wf_plan* plan = NULL;
  REQUIRE(decoder != NULL);

  shape.struct_size = 0;
  REQUIRE_ERROR(wf_decoder_supports(decoder, &shape), WF_INVALID_ARGUMENT, "shape.struct_size is 0");
  shape.struct_size = (size_t)-1; /* never initialised */
  REQUIRE_ERROR(wf_decoder_supports(decoder, &shape), WF_INVALID_ARGUMENT, "shape.struct_size is");
  shape = make_shape(1);
  shape.reserved = 1;
  REQUIRE_ERROR(wf_decoder_supports(decoder, &shape), WF_INVALID_ARGUMENT, "shape.reserved is 1");

  newer.known.struct_size = sizeof(newer_shape);
  REQUIRE(wf_decoder_supports(decoder, &newer.known) == WF_OK);
  newer.field_of_the_future = 1;
  REQUIRE_ERROR(wf_decoder_supports(decoder, &newer.known), WF_UNSUPPORTED, "does not know");

  REQUIRE_ERROR(wf_decoder_create(&options, &no_decoder), WF_INVALID_ARGUMENT, "options.struct_size is 1");
  REQUIRE(no_decoder == NULL);
  options.struct_size = offsetof(wf_decoder_options, fallback); /* a caller of before that field */
  options.device = "cpu";
  options.fallback = "what lies behind its struct";
  REQUIRE(wf_decoder_create(&options, &no_decoder) == WF_OK);
  wf_decoder_destroy(no_decoder);
  shape = make_shape(1);
  REQUIRE(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan) == WF_OK);
  REQUIRE_ERROR(wf_plan_get_stats(plan, &stats), WF_INVALID_ARGUMENT, "stats.struct_size is 0");
  REQUIRE_ERROR(wf_decoder_profile_counters(decoder, &counters), WF_INVALID_ARGUMENT,
                "counters.struct_size is 8");

  REQUIRE(wf_decoder_device(decoder, &info) == WF_OK);
  REQUIRE(info.struct_size == sizeof(wf_device_info));
  REQUIRE(info.name != NULL && strlen(info.name) > 0);
  REQUIRE(info.num_sms == 1);
  wf_plan_destroy(plan);
  wf_decoder_destroy(decoder);
  return NULL;
}

const char* check_bad_values(void) {
  wf_decoder_options options = WF_DECODER_OPTIONS_INIT;
  wf_decoder* decoder = NULL;
  wf_plan* plan = NULL;
  wf_shape shape = make_shape(2);
  wf_decode_args args = WF_DECODE_ARGS_INIT;
  const int32_t too_long[2] = {257, 1};

  options.device = "gpu";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "'gpu'");
  options.device = "";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "''");
  options.device = "cpu";
  options.setting = "target-ctas=512k";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "512k");
  options.setting = "";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "setting is ''");
  options.setting = "measured=/nonexistent/profile.json";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_NOT_FOUND, "/nonexistent/profile.json");
  options.setting = "fixed=2";
  options.fallback = "fixed=0";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "options.fallback: ");
  options.fallback = NULL;
  options.kernel = "fast";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_NOT_FOUND, "'fast'");
  options.kernel = "";
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "options.kernel is ''");
  options.kernel = NULL;
  options.num_threads = -1;
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "num_threads");
  options.num_threads = 1;
  options.batch_invariant = 2;
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "batch_invariant is 2");
  options.batch_invariant = 0;
  REQUIRE(decoder == NULL);
  REQUIRE(wf_decoder_create(&options, &decoder) == WF_OK);

  shape.kv_format = 3;
  REQUIRE_ERROR(wf_decoder_supports(decoder, &shape), WF_INVALID_ARGUMENT, "shape.kv_format is 3");
  shape = make_shape(2);
  shape.num_heads = 129;
  REQUIRE_ERROR(wf_decoder_supports(decoder, &shape), WF_INVALID_ARGUMENT, "num_heads is 129");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan), WF_INVALID_ARGUMENT, "129");
  REQUIRE_ERROR(wf_set_contiguous_strides(&shape, &args), WF_INVALID_ARGUMENT, "num_heads is 129");
  shape = make_shape(2);
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, too_long, 2, NULL, 0, &plan), WF_INVALID_ARGUMENT, "257");
  REQUIRE_ERROR(wf_plan_create(decoder, &shape, too_long, 1, NULL, 0, &plan), WF_INVALID_ARGUMENT, "lengths");
  REQUIRE(plan == NULL);
  wf_decoder_destroy(decoder);
  return NULL;
}

/* Plans `batch` and drops the plan; the code. */
static int plan_once(const wf_decoder* decoder, int32_t batch) {
  const wf_shape shape = make_shape(batch);
  wf_plan* plan = NULL;
  const int code = wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan);
  wf_plan_destroy(plan);
  return code;
}

static int counts(const wf_profile_counters* counters, uint64_t hits, uint64_t rounded_up, uint64_t misses,
                  uint64_t fallbacks) {
  return counters->hits == hits && counters->rounded_up == rounded_up && counters->misses == misses &&
         counters->fallbacks == fallbacks;
}

const char* check_profile_counters(const char* setting) {
  wf_decoder_options options = WF_DECODER_OPTIONS_INIT;
  wf_profile_counters counters = WF_PROFILE_COUNTERS_INIT;
  wf_decoder* decoder = make_decoder(setting, 1);
  REQUIRE(decoder != NULL);
  REQUIRE(wf_decoder_profile_counters(decoder, &counters) == WF_OK);
  REQUIRE(counts(&counters, 0, 0, 0, 0) && strcmp(counters.last_miss, "") == 0);
  REQUIRE(plan_once(decoder, 4) == WF_OK && plan_once(decoder, 2) == WF_OK);
  REQUIRE(plan_once(decoder, 3) == WF_OK);
  REQUIRE(plan_once(decoder, 5) == WF_NOT_FOUND);
  REQUIRE(wf_decoder_profile_counters(decoder, &counters) == WF_OK);
  REQUIRE(counts(&counters, 2, 1, 1, 0));
  REQUIRE(strstr(counters.last_miss, "batch 5") != NULL);
  REQUIRE(counters.struct_size == sizeof(counters));
  wf_decoder_destroy(decoder);
  REQUIRE(strstr(counters.last_miss, "batch 5") != NULL); /* not the decoder's */

  options.device = "cpu";
  options.setting = setting;
  options.num_threads = 1;
  options.fallback = setting; /* a profile that falls back on itself */
  REQUIRE_ERROR(wf_decoder_create(&options, &decoder), WF_INVALID_ARGUMENT, "fallback is measured");
  options.fallback = "fixed=3";
  REQUIRE(wf_decoder_create(&options, &decoder) == WF_OK);
  REQUIRE(plan_once(decoder, 5) == WF_OK && plan_once(decoder, 2) == WF_OK);
  REQUIRE(wf_decoder_profile_counters(decoder, &counters) == WF_OK);
  REQUIRE(counts(&counters, 1, 0, 1, 1));
  wf_decoder_destroy(decoder);

  decoder = make_decoder("fixed=2", 1);
  REQUIRE(decoder != NULL && plan_once(decoder, 4) == WF_OK);
  REQUIRE(wf_decoder_profile_counters(decoder, &counters) == WF_OK);
  REQUIRE(counts(&counters, 0, 0, 0, 0)); /* no profile, nothing to count */
  wf_decoder_destroy(decoder);
  return NULL;
}

const char* check_last_error(void) {
  int32_t format = 0;
  REQUIRE(wf_parse_kv_format("nonsense", &format) == WF_INVALID_ARGUMENT);
  REQUIRE(strlen(wf_last_error()) > 0);
  (void)wf_version();
  (void)wf_code_name(0);
  REQUIRE(strstr(wf_last_error(), "nonsense") != NULL);
  REQUIRE(wf_parse_kv_format("bf16", &format) == WF_OK);
  REQUIRE(strcmp(wf_last_error(), "") == 0);
  return NULL;
}

/* Tensors of zeros for `shape`, one page of 64 tokens, whatever the indices say (they say token 0). */
typedef struct tensors {
  uint16_t* q;
  uint16_t* out;
  int32_t* indices;
  unsigned char* page;
  void* workspace;
} tensors;

static int allocate(const wf_shape* shape, size_t workspace_bytes, tensors* t, wf_decode_args* args) {
  const size_t rows = (size_t)shape->batch * (size_t)shape->s_q;
  t->q = calloc(rows * (size_t)shape->num_heads * 512, sizeof(uint16_t));
  t->out = calloc(rows * (size_t)shape->num_heads * 512, sizeof(uint16_t));
  t->indices = calloc(rows * (size_t)shape->topk, sizeof(int32_t));
  t->page = calloc(64, 584);
  t->workspace = aligned_alloc(256, (workspace_bytes + 511) / 256 * 256);
  args->q.data = t->q;
  args->out.data = t->out;
  args->main.data = t->page;
  args->main.num_pages = 1;
  args->main.page_size = 64;
  args->main.page_stride_bytes = (int64_t)64 * 584;
  args->main.indices = t->indices;
  args->workspace = t->workspace;
  args->workspace_size_bytes = workspace_bytes;
  args->sm_scale = 0.0441941738F;
  return t->q != NULL && t->out != NULL && t->indices != NULL && t->page != NULL && t->workspace != NULL &&
         wf_set_contiguous_strides(shape, args) == WF_OK;
}

static void release(tensors* t) {
  free(t->q);
  free(t->out);
  free(t->indices);
  free(t->page);
  free(t->workspace);
}

const char* check_run_refusals(void) {
  wf_decoder* decoder = make_decoder("fixed=2", 1);
  const wf_shape shape = make_shape(2);
  const wf_shape larger = make_shape(3);
  wf_plan* plan = NULL;
  wf_plan* plan_of_larger = NULL;
  wf_decode_args args = WF_DECODE_ARGS_INIT;
  tensors t;
  size_t bytes = 0;
  size_t memory_bytes = 1;
  wf_plan_stats stats = WF_PLAN_STATS_INIT;
  REQUIRE(decoder != NULL);
  REQUIRE(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan) == WF_OK);
  REQUIRE(wf_plan_create(decoder, &larger, NULL, 0, NULL, 0, &plan_of_larger) == WF_OK);
  REQUIRE(wf_plan_workspace_bytes(plan, &bytes) == WF_OK);
  REQUIRE(wf_plan_get_stats(plan, &stats) == WF_OK);
  REQUIRE(stats.num_splits == 2 && stats.num_partials == 4 && stats.num_ctas >= 1);
  REQUIRE(bytes == 4u * 4u * 513u * sizeof(float)); /* partials * heads * (512 + 1) */
  REQUIRE(allocate(&shape, bytes, &t, &args));

  REQUIRE(wf_decoder_run(decoder, plan, &shape, &args, NULL) == WF_OK);
  args.struct_size = offsetof(wf_decode_args, plan_memory); /* a caller of before that field */
  args.plan_memory = t.workspace;                           /* what lies behind its struct */
  REQUIRE(wf_decoder_run(decoder, plan, &shape, &args, NULL) == WF_OK);
  args.struct_size = sizeof(args);
  args.plan_memory = NULL;
  REQUIRE(wf_plan_memory_bytes(plan, &memory_bytes) == WF_OK && memory_bytes == 0); /* a CPU reads the plan */
  REQUIRE(wf_decoder_prepare(decoder, plan, NULL, 0, NULL) == WF_OK);
  REQUIRE_ERROR(wf_decoder_run(decoder, plan_of_larger, &shape, &args, NULL), WF_MISMATCH, "batch 3");
  args.workspace_size_bytes = bytes - 1;
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_RESOURCE_EXHAUSTED, "workspace");
  args.workspace_size_bytes = bytes;
  args.workspace = (char*)t.workspace + 1;
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "256");
  args.workspace = t.workspace;
  args.check_indices = -1;
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "check_indices");
  args.check_indices = 1;
  REQUIRE(wf_decoder_run(decoder, plan, &shape, &args, NULL) == WF_OK);
  t.indices[17] = 64; /* the pool has tokens 0..63 */
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "64");
  args.struct_size = 3;
  REQUIRE_ERROR(wf_decoder_run(decoder, plan, &shape, &args, NULL), WF_INVALID_ARGUMENT, "args.struct_size");

  release(&t);
  wf_plan_destroy(plan);
  wf_plan_destroy(plan_of_larger);
  wf_decoder_destroy(decoder);
  return NULL;
}

int decode_in_c(const char* setting, int32_t num_threads, const wf_shape* shape, const int32_t* lengths,
                size_t num_lengths, const wf_decode_args* args) {
  wf_decoder* decoder = make_decoder(setting, num_threads);
  wf_plan* plan = NULL;
  wf_decode_args filled = *args;
  size_t bytes = 0;
  int code = decoder == NULL ? WF_INTERNAL : WF_OK;
  if (code == WF_OK) code = wf_plan_create(decoder, shape, lengths, num_lengths, NULL, 0, &plan);
  if (code == WF_OK) code = wf_plan_workspace_bytes(plan, &bytes);
  filled.workspace = bytes == 0 ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
  filled.workspace_size_bytes = bytes;
  if (code == WF_OK) code = wf_decoder_run(decoder, plan, shape, &filled, NULL);
  free(filled.workspace);
  wf_plan_destroy(plan);
  wf_decoder_destroy(decoder);
  return code;
}
