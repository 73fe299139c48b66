// One decode on the CPU through the installed C++ interface: a cache whose values are all 1 must
// attend to 1, with and without splits.
#include <wavefill/wavefill.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr wavefill::Bf16Bits kOne = 0x3F80;

void require(const wavefill::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

void decode(const std::string& setting_text) {
  const wavefill::DecodeShape shape{
      .batch = 2, .num_heads = 4, .kv_format = wavefill::KvFormat::bf16, .d_qk = 512, .topk = 200};
  const int page_size = 16;
  const int num_pages = 20;
  std::vector<wavefill::Bf16Bits> q(shape.rows() * shape.num_heads * shape.d_qk, kOne);
  std::vector<wavefill::Bf16Bits> kv(std::size_t{num_pages} * page_size * shape.d_qk, kOne);
  std::vector<std::int32_t> indices(shape.rows() * shape.topk);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i % 320);
  std::vector<wavefill::Bf16Bits> out(shape.rows() * shape.num_heads * wavefill::kValueDim, 0xFFFF);

  auto setting = wavefill::parse_setting(setting_text);
  require(setting.status());
  auto decoder = wavefill::Decoder::create({.device = "cpu", .setting = *setting});
  require(decoder.status());
  auto plan = decoder->plan(shape);
  require(plan.status());

  const std::size_t workspace_bytes = decoder->workspace_bytes(*plan);
  void* workspace = workspace_bytes == 0 ? nullptr : std::aligned_alloc(256, (workspace_bytes + 255) / 256 * 256);
  wavefill::DecodeArgs args;
  args.shape = shape;
  args.q = wavefill::contiguous_query(shape, q.data());
  args.main.kv = {.data = reinterpret_cast<const std::byte*>(kv.data()),
                  .num_pages = num_pages,
                  .page_size = page_size,
                  .page_stride_bytes = std::int64_t{page_size} * shape.d_qk * 2};
  args.main.indices = wavefill::contiguous_indices(shape, indices.data(), shape.topk);
  args.sm_scale = 0.04419417F;
  args.out = wavefill::contiguous_output(shape, out.data());
  args.workspace = workspace;
  args.workspace_size_bytes = workspace_bytes;
  require(decoder->run(*plan, args));
  std::free(workspace);

  for (const wavefill::Bf16Bits value : out) {
    if (value == kOne) continue;
    std::fprintf(stderr, "%s: output is 0x%04x; expected 0x%04x\n", setting_text.c_str(), value, kOne);
    std::exit(1);
  }
}

}  // namespace

int main() {
  decode("fixed=1");
  decode("fixed=3");
  std::puts("wavefill C++ consumer: ok");
}
