// The C structs as the C++ values they stand for.
#pragma once

#include "wavefill/decode_args.h"
#include "wavefill/decoder.h"
#include "wavefill/shape.h"
#include "wavefill/wavefill_c.h"

namespace wavefill::capi {

Result<KvFormat> to_kv_format(const char* name, std::int32_t kv_format);
Result<DecodeShape> to_shape(const wf_shape* shape);
Result<DecoderOptions> to_options(const wf_decoder_options* options);
Result<DecodeArgs> to_args(const DecodeShape& shape, const wf_decode_args* args);

// The strides of `args`, set to those of contiguous tensors.
Status set_contiguous_strides(const DecodeShape& shape, wf_decode_args* args);

}  // namespace wavefill::capi
