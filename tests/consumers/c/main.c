/* One decode on the CPU through the installed C interface: a cache whose values are all 1 must attend to
 * 1, with and without splits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wavefill/wavefill_c.h>

enum { BATCH = 2, HEADS = 4, WIDTH = 512, TOPK = 200, PAGE_SIZE = 16, NUM_PAGES = 20 };

static const uint16_t kOne = 0x3F80; /* bf16 */

static uint16_t q[BATCH * HEADS * WIDTH];
static uint16_t kv[NUM_PAGES * PAGE_SIZE * WIDTH];
static int32_t indices[BATCH * TOPK];
static uint16_t out[BATCH * HEADS * WIDTH];

static void require(int code) {
  if (code == WF_OK) return;
  fprintf(stderr, "%s: %s\n", wf_code_name(code), wf_last_error());
  exit(1);
}

static void fill(uint16_t* values, size_t count, uint16_t value) {
  for (size_t i = 0; i < count; ++i) values[i] = value;
}

static void decode(const char* setting) {
  wf_decoder_options options = WF_DECODER_OPTIONS_INIT;
  wf_shape shape = WF_SHAPE_INIT;
  wf_decode_args args = WF_DECODE_ARGS_INIT;
  wf_decoder* decoder = NULL;
  wf_plan* plan = NULL;

  options.device = "cpu";
  options.setting = setting;
  require(wf_decoder_create(&options, &decoder));
  shape.batch = BATCH;
  shape.num_heads = HEADS;
  shape.kv_format = WF_KV_BF16;
  shape.topk = TOPK;
  require(wf_plan_create(decoder, &shape, NULL, 0, NULL, 0, &plan));
  require(wf_plan_workspace_bytes(plan, &args.workspace_size_bytes));
  if (args.workspace_size_bytes > 0) {
    args.workspace = aligned_alloc(256, (args.workspace_size_bytes + 255) / 256 * 256);
  }

  require(wf_set_contiguous_strides(&shape, &args));
  args.q.data = q;
  args.main.data = kv;
  args.main.num_pages = NUM_PAGES;
  args.main.page_size = PAGE_SIZE;
  args.main.page_stride_bytes = PAGE_SIZE * WIDTH * 2;
  args.main.indices = indices;
  args.sm_scale = 0.04419417f;
  args.out.data = out;
  fill(out, BATCH * HEADS * WIDTH, 0xFFFF);
  require(wf_decoder_run(decoder, plan, &shape, &args, NULL));

  for (size_t i = 0; i < BATCH * HEADS * WIDTH; ++i) {
    if (out[i] == kOne) continue;
    fprintf(stderr, "%s: output %zu is 0x%04x; expected 0x%04x\n", setting, i, out[i], kOne);
    exit(1);
  }
  free(args.workspace);
  wf_plan_destroy(plan);
  wf_decoder_destroy(decoder);
}

int main(void) {
  fill(q, BATCH * HEADS * WIDTH, kOne);
  fill(kv, NUM_PAGES * PAGE_SIZE * WIDTH, kOne);
  for (int i = 0; i < BATCH * TOPK; ++i) indices[i] = i % (NUM_PAGES * PAGE_SIZE);
  decode("fixed=1");
  decode("fixed=3");
  puts("wavefill C consumer: ok");
  return 0;
}
