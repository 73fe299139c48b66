// Any bytes as the base of `wavefill bench --compare`: refused with a message, or rows that times can be held
// against, which are the same when written and read again.
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/bench_base.h"
#include "require.h"

namespace {

using wavefill::cli::BenchBase;

std::string written(const BenchBase& base) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BenchBase::Row& row : base.rows) {
    rows.push_back({{"batch", row.batch}, {"setting", row.setting}, {"samples_us", row.samples_us}});
  }
  return nlohmann::json{{"title", base.title},
                        {"device", base.device},
                        {"kernel", base.kernel},
                        {"timing", base.timing},
                        {"results", rows}}
      .dump();
}

bool is_same(const BenchBase& a, const BenchBase& b) {
  bool same = a.title == b.title && a.device == b.device && a.kernel == b.kernel && a.timing == b.timing &&
              a.rows.size() == b.rows.size();
  for (std::size_t i = 0; same && i < a.rows.size(); ++i) {
    same = a.rows[i].batch == b.rows[i].batch && a.rows[i].setting == b.rows[i].setting &&
           a.rows[i].samples_us == b.rows[i].samples_us;
  }
  return same;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto base = wavefill::cli::parse_bench_base("base.json", text);
  if (!base.ok()) {
    require(base.status().code() == wavefill::StatusCode::corrupt_data, "refused as corrupt_data");
    require(base.status().message().find("base.json") != std::string::npos, "the message names the file");
    return 0;
  }
  require(!base->rows.empty(), "a base has rows");
  for (const BenchBase::Row& row : base->rows) {
    require(row.batch >= 1, "a batch is at least 1");
    require(!row.samples_us.empty(), "a row has samples");
    for (const double us : row.samples_us) require(std::isfinite(us) && us > 0.0, "a time is finite and > 0");
  }
  const auto again = wavefill::cli::parse_bench_base("base.json", written(*base));
  require(again.ok() && is_same(*base, *again), "the round trip is exact");
  return 0;
}
