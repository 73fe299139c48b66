// Short texts that several outputs share.
#include <fmt/format.h>

#include "report/report.h"

namespace wavefill::report {

std::string shape_text(const DecodeShape& shape) {
  std::string text =
      fmt::format("{} {}, {}", shape.num_heads, shape.num_heads == 1 ? "head" : "heads", shape.topk);
  if (shape.extra_topk > 0) text += fmt::format(" + {}", shape.extra_topk);
  text += fmt::format(" tokens, {} cache", short_name(shape.kv_format));
  if (shape.s_q > 1) text += fmt::format(", {} query tokens a request", shape.s_q);
  return text;
}

}  // namespace wavefill::report
