// wavefill log: what the ledger keeps of earlier tuning runs.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/decide_ledger.h"
#include "cli/files.h"
#include "cli/json_output.h"
#include "cli/ledger_option.h"
#include "cli/log_pages.h"
#include "cli/log_run.h"
#include "core/errors.h"
#include "core/parse.h"
#include "ledger/ledger.h"
#include "report/text_table.h"

namespace wavefill::cli {
namespace {

struct LogOptions {
  std::string ledger;
  std::string run;
  std::string limit = "20";
  std::string commit;     // a directory; empty: nothing is committed
  bool markdown = false;  // the run's page instead of its table
  bool json = false;
};

// None: the default ledger does not exist yet, which is not an error.
Result<std::optional<Ledger>> open_existing(const LogOptions& options) {
  const Result<std::string> path =
      options.ledger.empty() ? default_ledger_path() : Result<std::string>(options.ledger);
  if (!path.ok()) return path.status();
  std::error_code error;
  if (!std::filesystem::exists(*path, error)) {
    if (options.ledger.empty()) return std::optional<Ledger>();
    return make_status(StatusCode::not_found,
                       "--ledger is {}, which does not exist; allowed: a ledger of wavefill tune or decide",
                       quote_text(*path));
  }
  Result<Ledger> ledger = Ledger::open(*path);
  if (!ledger.ok()) return ledger.status();
  return std::optional<Ledger>(*std::move(ledger));
}

std::string state_of(const RunSummary& run) { return run.finished ? run.decision : "unfinished"; }

// A decision from records has none in the ledger.
std::string samples_of(const RunSummary& run) {
  return is_decided_elsewhere(run.key) ? "-" : std::to_string(run.num_measurements);
}

std::string table_of(const std::vector<RunSummary>& runs, const report::TerminalStyle& style) {
  using report::Align;
  report::TextTable table({{"run"},
                           {"started", Align::left},
                           {"shape", Align::left},
                           {"batches", Align::left},
                           {"deployed", Align::left},
                           {"samples"},
                           {"decision", Align::left},
                           {"summary", Align::left}});
  for (const RunSummary& run : runs) {
    table.add_row({std::to_string(run.id), utc_text(run.started_unix_us), shape_text(run.key.profile),
                   run.key.batches, run.key.deployed, samples_of(run), state_of(run), run.summary});
  }
  return table.render(style);
}

Result<ExitCode> list_runs(const Ledger& ledger, const LogOptions& options, Console& console) {
  const Result<std::int64_t> limit = parse_integer("--limit", options.limit, 1, INT32_MAX);
  if (!limit.ok()) return limit.status();
  const Result<std::vector<RunSummary>> runs = ledger.runs(*limit);
  if (!runs.ok()) return runs.status();
  if (options.json) {
    Json array = Json::array();
    for (const RunSummary& run : *runs) array.push_back(json_of(run));
    console.print(json_text(array));
  } else {
    console.print(runs->empty() ? "no runs\n" : table_of(*runs, console.style()));
  }
  return ExitCode::ok;
}

Result<ExitCode> show_run(const Ledger& ledger, const LogOptions& options, Console& console) {
  const Result<std::int64_t> id = parse_integer("--run", options.run, 1, INT64_MAX);
  if (!id.ok()) return id.status();
  const Result<RunDetails> details = read_run(ledger, *id);
  if (!details.ok()) return details.status();
  if (options.markdown) {
    if (!details->decision) {
      return make_status(StatusCode::not_found, "run {} has no decision yet; allowed: a finished run", *id);
    }
    const Result<std::string> page = page_of(*details);
    if (!page.ok()) return page.status();
    console.print(*page);
    return ExitCode::ok;
  }
  console.print(options.json ? json_text(document(*details)) : text_of(*details, console.style()));
  return ExitCode::ok;
}

std::string commit_message(const std::vector<std::string>& written) {
  if (written.size() == 1) return fmt::format("Record a tuning decision: {}", written.front());
  return fmt::format("Record {} tuning decisions", written.size());
}

Result<ExitCode> commit_pages(const Ledger& ledger, const LogOptions& options, Console& console) {
  RunId only = 0;
  if (!options.run.empty()) {
    const Result<std::int64_t> id = parse_integer("--run", options.run, 1, INT64_MAX);
    if (!id.ok()) return id.status();
    only = *id;
  }
  const Result<std::vector<NewFile>> pages = pages_of(ledger, only);
  if (!pages.ok()) return pages.status();
  std::vector<std::string> names;
  for (const NewFile& page : *pages) names.push_back(page.name);
  const Result<CommitOutcome> outcome = commit_files(options.commit, *pages, commit_message(names));
  if (!outcome.ok()) return outcome.status();
  if (options.json) {
    console.print(json_text({{"pages", names},
                             {"written", outcome->written},
                             {"commit", outcome->commit.empty() ? Json() : Json(outcome->commit)}}));
  } else if (outcome->commit.empty()) {
    console.print(fmt::format("{} decisions, all committed before\n", pages->size()));
  } else {
    for (const std::string& name : outcome->written)
      console.print(fmt::format("{}/{}\n", options.commit, name));
    console.print(fmt::format("committed as {}\n", outcome->commit));
  }
  return ExitCode::ok;
}

Result<ExitCode> run(const LogOptions& options, Console& console) {
  if (options.markdown && (options.run.empty() || options.json || !options.commit.empty())) {
    return invalid_argument("--markdown goes with --run alone");
  }
  const Result<std::optional<Ledger>> ledger = open_existing(options);
  if (!ledger.ok()) return ledger.status();
  if (*ledger && !options.commit.empty()) return commit_pages(**ledger, options, console);
  if (*ledger)
    return options.run.empty() ? list_runs(**ledger, options, console) : show_run(**ledger, options, console);
  if (!options.run.empty()) {
    return make_status(StatusCode::not_found, "--run is {}, but there is no ledger yet",
                       quote_text(options.run));
  }
  console.print(options.json ? json_text(Json::array()) : "no runs\n");
  return ExitCode::ok;
}

}  // namespace

Action define_log(OptionSet& set) {
  const auto options = std::make_shared<LogOptions>();
  add_ledger_option(set, options->ledger, "the ledger");
  set.text("--run", options->run, "ID", "show this run with what was measured");
  set.text("--limit", options->limit, "N", "list so many runs, the newest first");
  set.text(
      "--commit", options->commit, "DIR",
      "write a markdown page for each decision (with --run: for that one) to this directory of a git work "
      "tree, and commit those pages alone");
  set.flag("--markdown", options->markdown, "with --run: print the page of its decision");
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
