// What holds for every command: help, JSON, exit codes, where words go.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program_runner.h"
#include "wavefill/version.h"

namespace wavefill::test {
namespace {

const std::vector<std::string> kCommands = {"devices", "kernels", "plan",    "verify", "bench",
                                            "tune",    "decide",  "profile", "log"};

TEST(CommandLine, VersionIsThatOfTheLibrary) {
  const Outcome outcome = run_wavefill({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "wavefill " + std::string(library_version()) + "\n");
}

TEST(CommandLine, HelpListsEveryCommand) {
  const Outcome outcome = run_wavefill({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const std::string& command : kCommands)
    EXPECT_NE(outcome.out.find("\n  " + command), std::string::npos) << command;
  EXPECT_NE(outcome.out.find("Exit codes"), std::string::npos);
}

TEST(CommandLine, HelpOfEveryCommandHasAnExample) {
  for (const std::string& command : kCommands) {
    const Outcome outcome = run_wavefill({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << command;
    EXPECT_NE(outcome.out.find("Example:\n  wavefill " + command), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("--json"), std::string::npos) << command;
    EXPECT_EQ(outcome.err, "") << command;
  }
}

// Those that need no long work here; bench and tune have tests of their own.
TEST(CommandLine, JsonIsOneDocumentAndNothingElse) {
  for (const char* line :
       {"devices --json", "kernels --device cpu --json",
        "kernels --device cpu --model dsv4-flash --tp 8 --json",
        "plan --device h200 --model dsv4-pro --batch 1-4 --policy all --json", "log --json"}) {
    const Outcome outcome = run_wavefill(words(line));
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    EXPECT_TRUE(nlohmann::json::accept(outcome.out)) << line << "\n" << outcome.out;
    EXPECT_EQ(outcome.err, "") << line;
  }
}

TEST(CommandLine, ErrorsLeaveStandardOutputEmpty) {
  for (const char* line : {"plan --device h200 --json", "log --run 7 --json", "verify --filter [ --json"}) {
    const Outcome outcome = run_wavefill(words(line));
    EXPECT_EQ(outcome.exit_code, 2) << line;
    EXPECT_EQ(outcome.out, "") << line;
    EXPECT_TRUE(outcome.err.starts_with("wavefill: error: ")) << outcome.err;
  }
}

TEST(CommandLine, NoEscapesReachAPipe) {
  for (const char* line : {"devices", "plan --device h200 --model dsv32 --policy all"}) {
    EXPECT_EQ(run_wavefill(words(line)).out.find('\x1b'), std::string::npos) << line;
  }
}

std::string on_terminal(const std::map<std::string, std::string>& environment) {
  RunOptions options;
  options.on_terminal = true;
  options.environment = environment;
  return run_wavefill(words("plan --device h200 --model dsv32"), options).out;
}

TEST(CommandLine, ATerminalGetsColourUnlessItSaysNo) {
  EXPECT_NE(on_terminal({{"TERM", "xterm"}}).find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(on_terminal({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal({{"TERM", "dumb"}}).find('\x1b'), std::string::npos);
}

TEST(CommandLine, OnlyAUtf8TerminalGetsUtf8) {
  EXPECT_NE(on_terminal({{"LANG", "C.UTF-8"}}).find("\u2500"), std::string::npos);
  EXPECT_EQ(on_terminal({{"LANG", "C.UTF-8"}, {"LC_ALL", "C"}}).find("\u2500"), std::string::npos);
}

TEST(CommandLine, ProgressOnATerminalIsOneLineThatIsWipedAway) {
  RunOptions options;
  options.on_terminal = true;
  const std::string out =
      run_wavefill(words("verify --device cpu --filter dsv4 --policy fixed=2"), options).out;
  const std::size_t last_wipe = out.rfind("\r\x1b[K");
  ASSERT_NE(last_wipe, std::string::npos) << out;
  EXPECT_EQ(out.substr(0, last_wipe).find('\n'), std::string::npos) << out;
  EXPECT_NE(out.find("passed", last_wipe), std::string::npos) << out;
}

TEST(CommandLine, AFullDiskIsAnError) {
  const Outcome outcome = run_wavefill_to("/dev/full", {"devices"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos);
}

}  // namespace
}  // namespace wavefill::test
