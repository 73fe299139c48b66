// What an earlier `wavefill bench --json` wrote, to hold a run against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wavefill/status.h"

namespace wavefill::cli {

struct BenchBase {
  struct Row {
    std::int32_t batch = 0;
    std::string setting;
    std::vector<double> samples_us;  // at least one, each finite and > 0
  };
  std::string path;
  std::string title;  // says the shape
  std::string device;
  std::string kernel;
  std::string timing;
  std::vector<Row> rows;  // at least one, each batch and setting once
};

// `path` for messages. Errors: corrupt_data (names the field).
Result<BenchBase> parse_bench_base(const std::string& path, std::string_view text);

// Errors: also those of read_file.
Result<BenchBase> read_bench_base(const std::string& path);

}  // namespace wavefill::cli
