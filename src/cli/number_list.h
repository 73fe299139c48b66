// Lists of numbers and durations as users write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wavefill/status.h"

namespace wavefill::cli {

inline constexpr std::int32_t kMaxBatch = 1 << 20;
inline constexpr std::size_t kMaxListSize = 4096;

// "64,80,96", "1-16", "1,8-64:8" (from 8 to 64 in steps of 8), and any mixture. Ascending whatever the
// order given. Errors: invalid_argument, naming `option` and the part that is wrong: a number outside
// 1..max, a range that runs backwards, a step beyond the range, a number given twice, more than
// kMaxListSize numbers.
Result<std::vector<std::int32_t>> parse_number_list(std::string_view option, std::string_view text,
                                                    std::int32_t max);

// The same of batch sizes, up to kMaxBatch.
Result<std::vector<std::int32_t>> parse_batch_list(std::string_view option, std::string_view text);

// "60s", "2m": seconds. Errors: invalid_argument (a number without a unit, another unit, 0, over a day).
Result<std::int64_t> parse_duration_s(std::string_view option, std::string_view text);

}  // namespace wavefill::cli
