// Requests that several plan tests start from.
#pragma once

#include <cstdint>
#include <string_view>

#include "wavefill/plan.h"

namespace wavefill {

// A device of `num_sms` SMs and a kernel of 64-token tiles, one CTA a SM.
inline PlanRequest make_request(std::int32_t num_sms, std::int32_t heads_per_cta, const DecodeShape& shape,
                                const Setting& setting) {
  PlanRequest request;
  request.device.name = "test device";
  request.device.num_sms = num_sms;
  request.device.compute_capability = 90;
  request.device.memory_bandwidth_gbps = 4000.0;
  request.kernel.name = "test kernel";
  request.kernel.heads_per_cta = heads_per_cta;
  request.kernel.kv_tile = 64;
  request.shape = shape;
  request.setting = setting;
  return request;
}

// DeepSeek-V4's compressed-attention layer: a window of 128 tokens and 512 chosen ones, 10 kv tiles.
inline DecodeShape dsv4_shape(std::int32_t batch, std::int32_t num_heads) {
  DecodeShape shape;
  shape.batch = batch;
  shape.num_heads = num_heads;
  shape.topk = 128;
  shape.extra_topk = 512;
  return shape;
}

}  // namespace wavefill
