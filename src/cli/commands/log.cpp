// wavefill log: what the ledger keeps of earlier tuning runs.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/json_output.h"
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
                       "--ledger is {}, which does not exist; allowed: a ledger of wavefill tune",
                       quote_text(*path));
  }
  Result<Ledger> ledger = Ledger::open(*path);
  if (!ledger.ok()) return ledger.status();
  return std::optional<Ledger>(*std::move(ledger));
}

std::string state_of(const RunSummary& run) { return run.finished ? run.decision : "unfinished"; }

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
                   run.key.batches, run.key.deployed, std::to_string(run.num_measurements), state_of(run),
                   run.summary});
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
  console.print(options.json ? json_text(document(*details)) : text_of(*details, console.style()));
  return ExitCode::ok;
}

Result<ExitCode> run(const LogOptions& options, Console& console) {
  const Result<std::optional<Ledger>> ledger = open_existing(options);
  if (!ledger.ok()) return ledger.status();
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
  set.text("--ledger", options->ledger, "FILE",
           "the ledger (default $XDG_STATE_HOME/wavefill/ledger.sqlite, else "
           "~/.local/state/wavefill/ledger.sqlite)");
  set.text("--run", options->run, "ID", "show this run with what was measured");
  set.text("--limit", options->limit, "N", "list so many runs, the newest first");
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
