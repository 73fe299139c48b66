#include "cli/workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "cli/files.h"
#include "cli/number_list.h"
#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

using Weights = std::map<std::int32_t, double>;

bool is_list(const std::string& text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

Result<double> parse_weight(std::string_view text) {
  double weight = 0.0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), weight, std::chars_format::fixed);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (is_whole && std::isfinite(weight) && weight >= 0.0) return weight;
  return invalid_argument("weight is {}; allowed: a decimal number >= 0", quote_text(text));
}

std::string_view without(std::string_view text, char first_of_comment) {
  text = text.substr(0, text.find(first_of_comment));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

Status add_line(std::string_view line, Weights& weights) {
  const std::size_t gap = line.find_first_of(" \t,");
  const Result<std::int64_t> size = parse_integer("batch", line.substr(0, gap), 1, kMaxBatch);
  if (!size.ok()) return size.status();
  std::string_view rest = gap == line.npos ? std::string_view{} : line.substr(gap);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t,"), rest.size()));
  const Result<double> weight = parse_weight(rest);
  if (!weight.ok()) return weight.status();
  weights[static_cast<std::int32_t>(*size)] += *weight;
  return {};
}

Status add_file(const std::string& path, Weights& weights) {
  const Result<std::string> content = read_file("--workload", path);
  if (!content.ok()) return content.status();
  std::string_view text = *content;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without(text.substr(0, end), '#');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (const Status status = add_line(line, weights); !status.ok()) {
      return make_status(StatusCode::corrupt_data, "{} line {}: {}", quote_text(path), number,
                         status.message());
    }
  }
  return {};
}

std::vector<WorkloadWeight> listed(const Weights& weights) {
  std::vector<WorkloadWeight> list;
  for (const auto& [batch, weight] : weights) list.push_back({.batch = batch, .weight = weight});
  return list;
}

}  // namespace

Result<std::vector<WorkloadWeight>> parse_workload(const std::string& text) {
  Weights weights;
  if (is_list(text)) {
    const Result<std::vector<std::int32_t>> sizes = parse_batch_list("--workload", text);
    if (!sizes.ok()) return sizes.status();
    for (const std::int32_t size : *sizes) weights[size] += 1.0;
  } else if (!text.empty()) {
    WAVEFILL_RETURN_IF_ERROR(add_file(text, weights));
    double total = 0.0;
    for (const auto& [batch, weight] : weights) total += weight;
    if (total <= 0.0)
      return invalid_argument("--workload {} has no weight; allowed: at least one > 0", quote_text(text));
  }
  return listed(weights);
}

ServedWorkload serve_workload(const std::vector<WorkloadWeight>& workload,
                              const std::vector<std::int32_t>& batches) {
  ServedWorkload served;
  Weights weights;
  for (const WorkloadWeight& size : workload) {
    const auto served_by = std::ranges::lower_bound(batches, size.batch);
    if (served_by == batches.end()) {
      served.beyond.push_back(size);
    } else {
      weights[*served_by] += size.weight;
    }
  }
  served.weights = listed(weights);
  return served;
}

Result<std::vector<WorkloadWeight>> read_workload(const std::string& text,
                                                  const std::vector<std::int32_t>& batches) {
  const Result<std::vector<WorkloadWeight>> workload = parse_workload(text);
  if (!workload.ok()) return workload;
  ServedWorkload served = serve_workload(*workload, batches);
  if (served.beyond.empty()) return std::move(served.weights);
  return invalid_argument("--workload has batch {}; allowed: up to {}, the largest of --batch",
                          served.beyond.front().batch, batches.back());
}

}  // namespace wavefill::cli
