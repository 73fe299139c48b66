#include "cli/bench_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "cli/verdict_text.h"
#include "core/errors.h"
#include "core/parse.h"
#include "report/junit.h"
#include "tune/comparison.h"

namespace wavefill::cli {
namespace {

constexpr double kMostLoss = 0.5;

const BenchBase::Row* find(const BenchBase& base, const BenchRow& row) {
  const auto found = std::ranges::find_if(base.rows, [&](const BenchBase::Row& known) {
    return known.batch == row.batch && known.setting == row.setting;
  });
  return found == base.rows.end() ? nullptr : &*found;
}

// Taken on different days: rounds of the two have nothing in common.
std::vector<TimedSample> unpaired(const std::vector<double>& samples_us) {
  std::vector<TimedSample> samples;
  for (const double us : samples_us) samples.push_back({-1, us});
  return samples;
}

Status check_comparable(const BenchBase& base, const std::string& title, const BenchResult& result) {
  const auto differs = [&](std::string_view field, const std::string& then, const std::string& now) {
    return make_status(StatusCode::mismatch, "--compare {}: {} was {}; this is {}", quote_text(base.path),
                       field, then, now);
  };
  if (base.device != result.device.name) return differs("device", base.device, result.device.name);
  if (base.title != title) return differs("shape", base.title, title);
  if (base.timing != result.timing) return differs("timing", base.timing, result.timing);
  return {};
}

// However busy a machine is, medians of two runs that differ by more than this are not one and the same.
constexpr double kMostNoise = 0.10;

// By how much the medians of two runs of the same may differ: no more than the samples of one run do.
double session_noise(std::vector<double> samples_us, const VerdictRule& rule) {
  if (std::ssize(samples_us) < 2) return rule.assumed_noise;
  std::ranges::sort(samples_us);
  const std::size_t tail = samples_us.size() / 10;
  const double range_us = samples_us[samples_us.size() - 1 - tail] - samples_us[tail];
  return std::min(range_us / 2.0 / median(samples_us), kMostNoise);
}

// Of each row; `samples` has its base and then its own.
std::vector<Effect> effects_of(const std::vector<std::vector<TimedSample>>& samples,
                               const VerdictRule& rule) {
  std::vector<SamplePair> family;
  Scatter times;
  for (const std::vector<TimedSample>& cell : samples) times.add(cell);
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) {
    family.push_back({.baseline = samples[i], .candidate = samples[i + 1]});
  }
  return compare_family(family, times, rule);
}

// Rows of the base that this run does not have.
void add_missing(const BenchBase& base, const BenchResult& result, const CompareScope& scope,
                 BenchComparison& comparison) {
  std::set<std::int32_t> left_out;
  for (const BenchBase::Row& then : base.rows) {
    const auto same_batch = [&](const BenchRow& row) { return row.batch == then.batch; };
    const auto same_row = [&](const BenchRow& row) { return same_batch(row) && row.setting == then.setting; };
    if (std::ranges::any_of(result.rows, same_row)) continue;
    const bool has_batch = std::ranges::any_of(result.rows, same_batch);
    if (!has_batch && scope.names_batches) {
      left_out.insert(then.batch);
    } else if (has_batch && scope.names_settings) {
      comparison.notes.push_back(
          fmt::format("not compared: {} at batch {} is in the base, and not among the settings named",
                      then.setting, then.batch));
    } else {
      comparison.missing.push_back({.batch = then.batch, .setting = then.setting});
    }
  }
  if (left_out.empty()) return;
  comparison.notes.push_back(
      fmt::format("not compared: batch {} of the base, which --batch leaves out", fmt::join(left_out, ",")));
}

std::string interval_text(const Effect& effect) {
  if (!effect.has_interval) return "too few samples";
  return range_text(effect.interval);
}

}  // namespace

std::int64_t BenchComparison::regressions() const {
  return std::ranges::count(rows, Verdict::slower, &ComparedRow::verdict);
}

Result<BenchComparison> compare_with_base(const BenchBase& base, const std::string& title,
                                          const BenchResult& result, double max_loss,
                                          const CompareScope& scope) {
  WAVEFILL_RETURN_IF_ERROR(check_comparable(base, title, result));
  BenchComparison comparison;
  comparison.base = base.path;
  if (base.kernel != result.kernel.name) {
    comparison.notes.push_back(
        fmt::format("the base ran kernel {}, this is {}", base.kernel, result.kernel.name));
  }
  VerdictRule rule;
  rule.min_effect = max_loss;
  rule.assumed_noise = std::max(rule.assumed_noise, max_loss);
  std::vector<std::vector<TimedSample>> samples;  // base and now, row by row
  std::vector<double> noise;
  for (const BenchRow& row : result.rows) {
    const BenchBase::Row* then = find(base, row);
    if (then == nullptr || row.samples_us.empty()) {
      comparison.notes.push_back(fmt::format("{} at batch {} {}", row.setting, row.batch,
                                             then == nullptr ? "is not in the base" : "has no sample now"));
      continue;
    }
    ComparedRow compared{
        .batch = row.batch, .setting = row.setting, .base_us = median(then->samples_us), .us = row.us};
    samples.push_back(unpaired(then->samples_us));
    samples.push_back(unpaired(row.samples_us));
    compared.noise = std::max(session_noise(then->samples_us, rule), session_noise(row.samples_us, rule));
    noise.push_back(compared.noise);
    comparison.rows.push_back(std::move(compared));
  }
  if (comparison.rows.empty()) {
    return invalid_argument("--compare {} has no batch and setting in common with this run",
                            quote_text(base.path));
  }
  const std::vector<Effect> effects = effects_of(samples, rule);
  const std::vector<Verdict> verdicts = judge(effects, noise, rule);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    comparison.rows[i].effect = effects[i];
    comparison.rows[i].verdict = verdicts[i];
  }
  add_missing(base, result, scope, comparison);
  return comparison;
}

Json document(const BenchComparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    const bool has_interval = row.effect.has_interval;
    rows.push_back({{"batch", row.batch},
                    {"setting", row.setting},
                    {"base_us", row.base_us},
                    {"us", row.us},
                    {"effect", row.effect.effect},
                    {"effect_low", has_interval ? Json(row.effect.interval.low) : Json()},
                    {"effect_high", has_interval ? Json(row.effect.interval.high) : Json()},
                    {"noise", row.noise},
                    {"verdict", to_string(row.verdict)}});
  }
  Json missing = Json::array();
  for (const MissingRow& row : comparison.missing) {
    missing.push_back({{"batch", row.batch}, {"setting", row.setting}});
  }
  return {{"base", comparison.base},
          {"regressions", comparison.regressions()},
          {"rows", std::move(rows)},
          {"missing", std::move(missing)},
          {"notes", comparison.notes}};
}

std::string text_of(const BenchComparison& comparison, const report::TerminalStyle& style) {
  using report::Align;
  report::TextTable table({{"batch"},
                           {"setting", Align::left},
                           {"base us"},
                           {"us"},
                           {"effect"},
                           {"95% interval", Align::left},
                           {"noise"},
                           {"verdict", Align::left}});
  for (const ComparedRow& row : comparison.rows) {
    table.add_row({std::to_string(row.batch), row.setting, fmt::format("{:.1f}", row.base_us),
                   fmt::format("{:.1f}", row.us), percent_text(row.effect.effect), interval_text(row.effect),
                   fmt::format("{:.1f}%", row.noise * 100),
                   report::Cell(std::string(to_string(row.verdict)), tone_of(row.verdict))});
  }
  std::string text = fmt::format("\nagainst {}\n\n{}", comparison.base, table.render(style));
  for (const std::string& note : comparison.notes) text += note + "\n";
  for (const ComparedRow& row : comparison.rows) {
    if (row.verdict != Verdict::slower) continue;
    text += fmt::format("REGRESSION at batch {}: {} {}\n", row.batch, row.setting,
                        percent_text(row.effect.effect));
  }
  for (const MissingRow& row : comparison.missing) {
    text += fmt::format("MISSING at batch {}: {} is in the base, and was not measured now\n", row.batch,
                        row.setting);
  }
  return text;
}

std::string junit_of(const BenchComparison& comparison) {
  std::vector<report::JunitCase> cases;
  for (const ComparedRow& row : comparison.rows) {
    report::JunitCase test{.group = row.setting,
                           .name = fmt::format("batch {}", row.batch),
                           .outcome = report::CaseOutcome::passed,
                           .message = {},
                           .seconds = row.us * 1e-6};
    const std::string figures = fmt::format("{:.1f} us, {:.1f} us in the base, {}", row.us, row.base_us,
                                            percent_text(row.effect.effect));
    if (row.verdict == Verdict::slower) {
      test.outcome = report::CaseOutcome::failed;
      test.message = figures;
    } else if (row.verdict == Verdict::undecided) {
      test.outcome = report::CaseOutcome::skipped;
      test.message = "undecided: " + figures;
    }
    cases.push_back(std::move(test));
  }
  for (const MissingRow& row : comparison.missing) {
    cases.push_back({.group = row.setting,
                     .name = fmt::format("batch {}", row.batch),
                     .outcome = report::CaseOutcome::failed,
                     .message = "in the base, and not measured now",
                     .seconds = 0.0});
  }
  return report::to_junit("wavefill bench --compare", cases);
}

Result<double> parse_percent(std::string_view option, std::string_view text) {
  double value = 0.0;
  const std::string_view number = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  const bool is_whole = error == std::errc() && end == number.data() + number.size() && text.ends_with('%');
  if (is_whole && std::isfinite(value) && value >= 0.0 && value / 100.0 <= kMostLoss) return value / 100.0;
  return invalid_argument("{} is {}; allowed: 0%..{:.0f}%, as in 2% or 0.5%", option, quote_text(text),
                          kMostLoss * 100.0);
}

}  // namespace wavefill::cli
