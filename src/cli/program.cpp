#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/shell_quoted.h"
#include "core/parse.h"
#include "wavefill/version.h"

namespace wavefill::cli {
namespace {

constexpr const char* kDescription =
    "Sparse-MLA decode attention that fills every wave: plan, measure and choose how batches are split.";
constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 the answer is no, 2 bad usage, 3 environment (no such device, no driver, I/O).";

// "--heads -1" would be read as an option named -1; as "--heads=-1" the value reaches the check that says
// what is allowed.
std::vector<std::string> with_joined_negatives(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool is_negative =
        argument.size() > 1 && argument[0] == '-' && argument[1] >= '0' && argument[1] <= '9';
    if (is_negative && !arguments.empty() && arguments.back().starts_with("--") &&
        arguments.back().find('=') == std::string::npos) {
      arguments.back() += "=" + std::string(argument);
    } else {
      arguments.emplace_back(argument);
    }
  }
  return arguments;
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + shell_quoted(argv[i]);
  return line;
}

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : ", ") + std::string(command.name);
  return names;
}

bool is_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return true;
  }
  return false;
}

int fail(Console& console, const Status& status) {
  console.error(status.message());
  return static_cast<int>(exit_code_of(status));
}

int usage_error(Console& console, std::string_view message, std::string_view command) {
  console.error(message);
  console.note(command.empty() ? std::string("run 'wavefill --help'")
                               : fmt::format("run 'wavefill {} --help'", command));
  return static_cast<int>(ExitCode::usage);
}

int finish(Console& console, const Result<ExitCode>& outcome) {
  console.end_progress();
  if (!outcome.ok()) return fail(console, outcome.status());
  if (!console.flush()) {
    return fail(console, {StatusCode::unavailable, "standard output could not be written"});
  }
  return static_cast<int>(*outcome);
}

// Parses and runs. `selected` is set to the command's name as soon as it is known.
int parse_and_run(CLI::App& app, const std::map<std::string, Action>& actions,
                  std::vector<std::string> arguments, Console& console) {
  const std::string selected = !arguments.empty() && is_command(arguments[0]) ? arguments[0] : "";
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion&) {
    console.print(fmt::format("wavefill {}\n", library_version()));
    return finish(console, ExitCode::ok);
  } catch (const CLI::CallForHelp&) {
    console.print(selected.empty() ? app.help() : app.get_subcommand(selected)->help("wavefill"));
    return finish(console, ExitCode::ok);
  } catch (const CLI::ParseError& error) {
    return usage_error(console, error.what(), selected);
  }
  return finish(console, actions.at(selected)(console));
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  Console console;
  console.set_command_line(command_line(argc, argv));
  const std::vector<std::string> arguments = with_joined_negatives(argc, argv);
  CLI::App app(kDescription, "wavefill");
  app.set_version_flag("--version", std::string("wavefill ") + std::string(library_version()),
                       "print the version");
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.footer(kFooter);

  std::map<std::string, Action> actions;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(fmt::format("Example:\n  {}", command.example));
    OptionSet options(*sub);
    actions[std::string(command.name)] = command.define(options);
  }

  if (arguments.empty()) {
    return usage_error(console, fmt::format("no command is given; allowed: {}", command_names()), "");
  }
  const bool is_for_all = arguments[0] == "-h" || arguments[0] == "--help" || arguments[0] == "--version";
  if (!is_for_all && !is_command(arguments[0])) {
    return usage_error(
        console, fmt::format("command is {}; allowed: {}", quote_text(arguments[0]), command_names()), "");
  }
  try {
    return parse_and_run(app, actions, arguments, console);
  } catch (const std::bad_alloc&) {
    return fail(console, {StatusCode::resource_exhausted, "out of memory"});
  } catch (const std::exception& error) {
    return fail(console, {StatusCode::internal, fmt::format("internal error: {}", error.what())});
  }
}

}  // namespace wavefill::cli
