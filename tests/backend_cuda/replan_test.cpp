// Plans made on the device, inside one captured graph, against the host's for the same lengths: word for
// word, and by what the attention that runs them gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backend_cuda/gpu_fixture.h"
#include "backend_cuda/gpu_graph.h"
#include "oracle/case.h"
#include "wavefill/decoder.h"

namespace wavefill::test {
namespace {

Decoder balanced_decoder(std::string_view setting = "balanced") {
  DecoderOptions options;
  options.device = "cuda:0";
  options.setting = parse_setting(setting).value();
  return Decoder::create(options).value();
}

// What the frame's memory should hold for `plan`, and how many of its words a plan has.
std::vector<std::int32_t> image_of(const SplitPlan& frame, const SplitPlan& plan) {
  std::vector<std::int32_t> words;
  for (const WorkItem& item : plan.items) {
    words.insert(words.end(), {item.row, item.head_tile, item.tile_begin, item.tile_end, item.partial_idx});
  }
  words.resize(frame.items.size() * 5, -1);  // poison: no worker has these items
  std::vector<std::int32_t> workers = plan.worker_begin;
  workers.resize(frame.worker_begin.size(), plan.worker_begin.back());
  words.insert(words.end(), workers.begin(), workers.end());
  words.insert(words.end(), plan.row_partial_begin.begin(), plan.row_partial_begin.end());
  return words;
}

std::vector<std::int32_t> draw_lengths(std::mt19937& rng, std::size_t count, std::int32_t most) {
  std::vector<std::int32_t> lengths(count);
  const auto kind = rng() % 4;  // uniform, mostly empty, all empty, one long row
  for (std::int32_t& length : lengths) {
    length = static_cast<std::int32_t>(rng() % static_cast<unsigned>(most + 1));
    if ((kind == 1 && rng() % 4 != 0) || kind == 2) length = 0;
    if (kind == 3) length = std::min(length, 3);
  }
  if (kind == 3) lengths[rng() % count] = most;
  return lengths;
}

class Replan : public GpuTest {};

TEST_F(Replan, EqualsTheHostsPlanWordForWordOverRandomLengths) {
  std::mt19937 rng(11);
  const DecodeShape many_rows{.batch = 301, .num_heads = 8, .topk = 128};
  for (const auto& [setting, shape] :
       {std::pair{"balanced", DecodeShape{.batch = 1, .num_heads = 16, .topk = 128, .extra_topk = 512}},
        {"balanced", {.batch = 7, .s_q = 3, .num_heads = 64, .topk = 100, .extra_topk = 1000}},
        {"balanced=1", {.batch = 64, .num_heads = 128, .topk = 128, .extra_topk = 512}},
        {"balanced", many_rows},
        {"balanced=3", many_rows},
        {"balanced", {.batch = 1500, .num_heads = 16, .topk = 128, .extra_topk = 64}}}) {
    const Decoder decoder = balanced_decoder(setting);
    const SplitPlan frame = decoder.plan_frame(shape).value();
    const DeviceBuffer memory(decoder.plan_memory_bytes(frame));
    const auto rows = static_cast<std::size_t>(shape.rows());
    const DeviceBuffer lengths(rows * 4);
    const DeviceBuffer extra(rows * 4);
    Graph graph([&](cudaStream_t stream) {
      const Status status = decoder.replan(frame, contiguous_lengths(shape, lengths.as<const std::int32_t>()),
                                           contiguous_lengths(shape, extra.as<const std::int32_t>()),
                                           memory.as(), memory.bytes(), stream);
      ASSERT_TRUE(status.ok()) << status.message();
    });
    for (int round = 0; round < 20; ++round) {
      const auto main_lengths = draw_lengths(rng, rows, shape.topk);
      auto extra_lengths = draw_lengths(rng, rows, shape.extra_topk);
      check_cuda(cudaMemcpy(lengths.as(), main_lengths.data(), rows * 4, cudaMemcpyHostToDevice));
      check_cuda(cudaMemcpy(extra.as(), extra_lengths.data(), rows * 4, cudaMemcpyHostToDevice));
      check_cuda(cudaMemset(memory.as(), 0xFF, memory.bytes()));
      graph.replay();
      if (shape.extra_topk == 0) extra_lengths.assign(rows, 0);
      const SplitPlan plan = decoder.plan(shape, main_lengths, extra_lengths).value();
      std::vector<std::int32_t> words(memory.bytes() / 4);
      memory.copy_to(std::span(words));
      ASSERT_EQ(words, image_of(frame, plan)) << setting << ", batch " << shape.batch << ", round " << round;
      ASSERT_LE(plan.num_partials(), frame.num_partials());
    }
  }
}

// Rows that a kernel of its own merges, and on a GPU that has such kernels rows that workers do.
void expect_attention_that_follows_the_lengths(const DecodeShape& shape) {
  oracle::Case c;
  c.name = "replan";
  c.shape = shape;
  c.lengths = c.extra_lengths = oracle::Lengths::full;
  c.sink = oracle::Sink::random;
  oracle::Inputs host(c);
  DeviceInputs device(host);
  const Decoder decoder = balanced_decoder();
  const SplitPlan frame = decoder.plan_frame(c.shape).value();
  const DeviceBuffer memory(decoder.plan_memory_bytes(frame));
  const DeviceBuffer workspace(workspace_bytes(frame));
  DecodeArgs args = device.args();
  args.workspace = workspace.as();
  args.workspace_size_bytes = workspace.bytes();
  EXPECT_EQ(decoder.run(frame, args).code(), StatusCode::invalid_argument);  // a frame alone is no plan
  args.plan_memory = memory.as<const void>();
  Graph graph([&](cudaStream_t stream) {
    ASSERT_TRUE(
        decoder.replan(frame, args.main.lengths, args.extra.lengths, memory.as(), memory.bytes(), stream)
            .ok());
    ASSERT_TRUE(decoder.run(frame, args, stream).ok());
  });
  const auto rows = static_cast<std::size_t>(shape.rows());
  std::mt19937 rng(12);
  for (int round = 0; round < 4; ++round) {
    for (const auto& [on_device, on_host, most] :
         {std::tuple{args.main.lengths.data, host.args().main.lengths.data, c.shape.topk},
          std::tuple{args.extra.lengths.data, host.args().extra.lengths.data, c.shape.extra_topk}}) {
      const auto lengths = draw_lengths(rng, rows, most);
      std::ranges::copy(lengths, const_cast<std::int32_t*>(on_host));
      check_cuda(
          cudaMemcpy(const_cast<std::int32_t*>(on_device), lengths.data(), rows * 4, cudaMemcpyHostToDevice));
    }
    device.poison_outputs();
    check_cuda(cudaMemset(workspace.as(), 0xFF, workspace.bytes()));
    graph.replay();
    const oracle::Reference expected = oracle::reference(host.args());
    const auto comparison = oracle::compare(expected, device.fetch_outputs());
    EXPECT_TRUE(comparison.passed) << round << ": " << comparison.first_failure;
  }
}

TEST_F(Replan, AttentionInTheSameGraphFollowsTheLengths) {
  expect_attention_that_follows_the_lengths({.batch = 40, .num_heads = 16, .topk = 128, .extra_topk = 512});
  expect_attention_that_follows_the_lengths({.batch = 90, .num_heads = 64, .topk = 70, .extra_topk = 200});
}

TEST_F(Replan, RefusesPlansThatAreNoFrameAndTooLittleMemory) {
  const Decoder decoder = balanced_decoder();
  const DecodeShape shape{.batch = 40, .num_heads = 16, .topk = 128, .extra_topk = 512};
  const SplitPlan frame = decoder.plan_frame(shape).value();
  const DeviceBuffer memory(decoder.plan_memory_bytes(frame));
  const Status no_frame = decoder.replan(decoder.plan(shape).value(), {}, {}, memory.as(), memory.bytes());
  EXPECT_EQ(no_frame.code(), StatusCode::invalid_argument);
  EXPECT_EQ(decoder.replan(frame, {}, {}, memory.as(), memory.bytes() - 4).code(),
            StatusCode::resource_exhausted);
  EXPECT_EQ(decoder.replan(frame, {}, {}, nullptr, memory.bytes()).code(), StatusCode::resource_exhausted);
}

}  // namespace
}  // namespace wavefill::test
