// wavefill verify: the case table on a device, every output against the double-precision oracle.
#include <fmt/format.h>

#include <memory>
#include <random>
#include <regex>

#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/json_output.h"
#include "cli/setting_options.h"
#include "cli/verify_run.h"
#include "core/errors.h"
#include "core/parse.h"
#include "oracle/case.h"
#include "report/text_table.h"
#include "runtime/kernel_choice.h"

namespace wavefill::cli {
namespace {

struct VerifyOptions {
  DeviceOptions device;
  SettingOptions settings;
  std::string filter;
  std::string seed;  // empty: the cases' own
  bool json = false;
};

struct VerifyJob {
  std::unique_ptr<Backend> backend;
  std::vector<oracle::Case> cases;
  std::vector<Setting> settings;
  std::uint64_t seed = 0;
};

Result<std::vector<oracle::Case>> filtered_cases(const std::string& filter) {
  std::regex pattern;
  try {
    pattern = std::regex(filter, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    return invalid_argument("--filter is {}; allowed: an ECMAScript regular expression", quote_text(filter));
  }
  std::vector<oracle::Case> cases;
  for (const oracle::Case& test_case : oracle::all_cases()) {
    if (std::regex_search(test_case.name, pattern)) cases.push_back(test_case);
  }
  if (cases.empty()) {
    return invalid_argument("--filter is {}, which none of the {} cases matches", quote_text(filter),
                            oracle::all_cases().size());
  }
  return cases;
}

Result<std::uint64_t> read_seed(const std::string& text) {
  if (text.empty()) return std::uint64_t{0};
  if (text == "random") return (std::uint64_t{std::random_device{}()} & INT32_MAX) + 1;
  const Result<std::int64_t> seed = parse_integer("--seed", text, 1, INT64_MAX);
  if (!seed.ok()) return invalid_argument("{}, or random", seed.status().message());
  return static_cast<std::uint64_t>(*seed);
}

Result<VerifyJob> read_job(const VerifyOptions& options) {
  VerifyJob job;
  Result<std::vector<oracle::Case>> cases = filtered_cases(options.filter);
  if (!cases.ok()) return cases.status();
  job.cases = *std::move(cases);
  const Result<std::uint64_t> seed = read_seed(options.seed);
  if (!seed.ok()) return seed.status();
  job.seed = *seed;
  Result<std::unique_ptr<Backend>> backend = open_device(options.device);
  if (!backend.ok()) return backend.status();
  job.backend = *std::move(backend);
  if (const auto kernels = select_kernels(*job.backend, options.device.kernel); !kernels.ok()) {
    return kernels.status();
  }
  SettingOptions settings = options.settings;
  if (settings.policies.empty() && settings.profile.empty()) settings.policies = {"all"};
  Result<std::vector<Setting>> read = read_settings(settings, job.backend->device().num_sms);
  if (!read.ok()) return read.status();
  job.settings = *std::move(read);
  return job;
}

// The same case with other random data.
oracle::Case reseeded(oracle::Case test_case, std::uint64_t seed) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15ULL;  // spreads neighbouring seeds apart
  if (seed != 0) test_case.seed = test_case.seed * kGoldenRatio + seed;
  return test_case;
}

std::string summary_text(const VerifyJob& job, const VerifySummary& summary,
                         const report::TerminalStyle& style) {
  using report::Tone;
  std::string text = fmt::format("{}, {} cases, {} settings", job.backend->device().name, job.cases.size(),
                                 job.settings.size());
  if (job.seed != 0) text += fmt::format(", seed {}", job.seed);
  text += fmt::format("\n\n{:<18}{}\n{:<18}{}\n", "run", summary.num_run, "passed",
                      report::toned(std::to_string(summary.num_passed),
                                    summary.failures.empty() ? Tone::good : Tone::plain, style));
  text += fmt::format("{:<18}{}\n", "failed",
                      report::toned(std::to_string(summary.failures.size()),
                                    summary.failures.empty() ? Tone::plain : Tone::bad, style));
  if (!summary.unsupported.empty())
    text += fmt::format("{:<18}{}\n", "not supported", summary.unsupported.size());
  text += fmt::format("{:<18}{:.2e} in {}\n", "worst out error", summary.worst_o_error, summary.worst_o_case);
  text +=
      fmt::format("{:<18}{:.2e} in {}\n", "worst lse error", summary.worst_lse_error, summary.worst_lse_case);
  for (const VerifyFailure& failure : summary.failures) {
    text += fmt::format("\n{} {}\n  {}\n", report::toned("FAILED", Tone::bad, style), failure.name,
                        failure.message);
  }
  for (const VerifyFailure& skipped : summary.unsupported) {
    text += fmt::format("\nnot supported: {}\n  {}\n", skipped.name, skipped.message);
  }
  return text;
}

Json json_of(const std::vector<VerifyFailure>& failures) {
  Json array = Json::array();
  for (const VerifyFailure& failure : failures)
    array.push_back({{"case", failure.name}, {"message", failure.message}});
  return array;
}

Json document(const VerifyJob& job, const VerifySummary& summary) {
  Json settings = Json::array();
  for (const Setting& setting : job.settings) settings.push_back(to_string(setting));
  return {{"device", job.backend->device().name},
          {"cases", job.cases.size()},
          {"settings", std::move(settings)},
          {"seed", job.seed == 0 ? Json() : Json(job.seed)},
          {"run", summary.num_run},
          {"passed", summary.num_passed},
          {"failed", json_of(summary.failures)},
          {"unsupported", json_of(summary.unsupported)},
          {"max_o_error", summary.worst_o_error},
          {"max_o_error_case", summary.worst_o_case},
          {"max_lse_error", summary.worst_lse_error},
          {"max_lse_error_case", summary.worst_lse_case}};
}

Result<ExitCode> run(const VerifyOptions& options, Console& console) {
  const Result<VerifyJob> job = read_job(options);
  if (!job.ok()) return job.status();
  VerifySummary summary;
  for (std::size_t i = 0; i < job->cases.size(); ++i) {
    const oracle::Case test_case = reseeded(job->cases[i], job->seed);
    console.progress(test_case.name, static_cast<double>(i) / static_cast<double>(job->cases.size()));
    WAVEFILL_RETURN_IF_ERROR(verify_case(*job->backend, options.device, test_case, job->settings, summary));
  }
  console.end_progress();
  console.print(options.json ? json_text(document(*job, summary))
                             : summary_text(*job, summary, console.style()));
  return summary.failures.empty() && summary.num_run > 0 ? ExitCode::ok : ExitCode::no;
}

}  // namespace

Action define_verify(OptionSet& set) {
  const auto options = std::make_shared<VerifyOptions>();
  add_device_options(set, options->device);
  add_kernel_option(set, options->device);
  add_setting_options(set, options->settings);
  set.begin_group("Options");
  set.text("--filter", options->filter, "REGEX", "only cases whose name this matches");
  set.text("--seed", options->seed, "N", "other random data: a number, or random (which is printed)");
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
