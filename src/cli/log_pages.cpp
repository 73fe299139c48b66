#include "cli/log_pages.h"

#include <fmt/format.h>

#include <utility>

#include "cli/decide_ledger.h"
#include "core/errors.h"
#include "report/decision_page.h"

namespace wavefill::cli {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

// Empty where the records were taken on nobody knows what.
Facts device_facts(const ProfileKey& key) {
  if (key.device.empty()) return {};
  return {{"device", fmt::format("{} ({} SMs or threads)", key.device, key.num_sms)},
          {"kernel", fmt::format("{}, {} heads a CTA, kv tiles of {}, {} CTAs an SM", key.kernel,
                                 key.heads_per_cta, key.kv_tile, key.ctas_per_sm)},
          {"shape", fmt::format("{} heads, topk {} + {}, s_q {}, {} cache, d_qk {}", key.num_heads, key.topk,
                                key.extra_topk, key.s_q, key.kv_format, key.d_qk)}};
}

report::DecisionContext context_of(const RunDetails& run) {
  const RunSummary& summary = run.summary;
  const ProfileKey& key = summary.key.profile;
  const bool is_elsewhere = is_decided_elsewhere(summary.key);
  report::DecisionContext context;
  context.title = key.device.empty() ? std::string(summary.key.timing)
                                     : fmt::format("{} on {}", shape_text(key), key.device);
  context.date = utc_text(run.decision->at_unix_us) + " UTC";
  context.deployed = summary.key.deployed;
  context.facts = device_facts(key);
  const auto fact = [&](const char* name, std::string value) {
    context.facts.emplace_back(name, std::move(value));
  };
  fact("batch sizes", summary.key.batches);
  fact("deployed until then", summary.key.deployed);
  fact("timing", summary.key.timing);
  if (!is_elsewhere) {
    fact("samples", fmt::format("{}, of which {} in disturbed rounds", summary.num_measurements,
                                summary.num_contaminated));
  }
  fact("seed", std::to_string(summary.key.seed));
  fact("wavefill", key.library_version);
  fact("ledger run", std::to_string(summary.id));
  // Of such a decision the environment is the records' file, which is among the facts of its request.
  if (is_elsewhere) return context;
  for (const EnvironmentField& field : run.environment.fields) {
    context.environment.emplace_back(field.name, field.value);
  }
  return context;
}

}  // namespace

std::string page_name(const RunDetails& run) {
  return fmt::format("{}-run-{}.md", utc_text(run.decision->at_unix_us).substr(0, 10), run.summary.id);
}

Result<std::string> page_of(const RunDetails& run) {
  return report::decision_page(context_of(run), run.decision->json);
}

Result<std::vector<NewFile>> pages_of(const Ledger& ledger, RunId only) {
  std::vector<NewFile> pages;
  const Result<std::vector<RunSummary>> runs = ledger.runs();
  if (!runs.ok()) return runs.status();
  for (const RunSummary& summary : *runs) {
    if (only != 0 ? summary.id != only : !summary.finished) continue;
    const Result<RunDetails> run = read_run(ledger, summary.id);
    if (!run.ok()) return run.status();
    if (!run->decision) {
      return make_status(StatusCode::not_found, "run {} has no decision yet; allowed: a finished run",
                         summary.id);
    }
    Result<std::string> page = page_of(*run);
    if (!page.ok()) return page.status();
    pages.push_back({.name = page_name(*run), .content = *std::move(page)});
  }
  if (only != 0 && pages.empty())
    return make_status(StatusCode::not_found, "--run is {}, which does not exist", only);
  return pages;
}

}  // namespace wavefill::cli
