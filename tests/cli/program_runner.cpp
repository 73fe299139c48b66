#include "cli/program_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>

namespace wavefill::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_of(const RunOptions& options, const std::string& home) {
  std::map<std::string, std::string> environment = {{"HOME", home}};
  // Sanitizer builds of the program take their options from the test's environment.
  for (const char* name : {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH"}) {
    if (const char* value = getenv(name)) environment[name] = value;
  }
  for (const auto& [name, value] : options.environment) environment[name] = value;
  std::vector<std::string> strings;
  for (const auto& [name, value] : environment) strings.push_back(name + "=" + value);
  return strings;
}

[[noreturn]] void become_program(const RunOptions& options, std::vector<std::string>& arguments,
                                 std::vector<std::string>& environment, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(126);
  execve(WAVEFILL_PROGRAM, pointers_to(arguments).data(), pointers_to(environment).data());
  _exit(127);
}

// Appends what can be read; false at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void read_until_end(int out, int err, pid_t child, const RunOptions& options, Outcome& outcome) {
  const auto started = Clock::now();
  const bool is_timed = options.signal_after_s >= 0.0;
  bool signalled = !is_timed && options.signal_at.empty();
  std::array<pollfd, 2> streams = {{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    constexpr int kPollMs = 2;
    poll(streams.data(), streams.size(), signalled ? -1 : kPollMs);
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - started).count();
    const bool is_due = is_timed ? elapsed_s >= options.signal_after_s
                                 : outcome.err.find(options.signal_at) != std::string::npos;
    if (!signalled && is_due) {
      kill(child, options.signal);
      signalled = true;
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].revents == 0) continue;
      if (!drain(streams[i].fd, i == 0 ? outcome.out : outcome.err)) streams[i].fd = -1;
    }
  }
}

// Where the program's two streams go: the ends it writes to, and those the test reads.
struct Streams {
  int out = -1;
  int err = -1;
  int read_out = -1;
  int read_err = -1;
};

Streams open_pipes() {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return {};
  return {.out = out[1], .err = err[1], .read_out = out[0], .read_err = err[0]};
}

Streams open_terminal() {
  const int controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0) return {};
  const int terminal = open(ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);
  return {.out = terminal, .err = terminal, .read_out = controller, .read_err = -1};
}

// stdout goes to the file `out_path`, or into the outcome where that is empty.
Outcome run(const std::vector<std::string>& arguments, const RunOptions& options,
            const std::string& out_path) {
  const TemporaryDirectory home;
  std::vector<std::string> argv = {"wavefill"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_of(options, home.path());
  const Streams streams = options.on_terminal ? open_terminal() : open_pipes();
  if (streams.out < 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const int to = out_path.empty() ? streams.out : open(out_path.c_str(), O_WRONLY);
    become_program(options, argv, environment, to, streams.err);
  }
  close(streams.out);
  if (streams.err != streams.out) close(streams.err);
  Outcome outcome;
  read_until_end(streams.read_out, streams.read_err, child, options, outcome);
  close(streams.read_out);
  if (streams.read_err >= 0) close(streams.read_err);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace

Outcome run_wavefill(const std::vector<std::string>& arguments, const RunOptions& options) {
  return run(arguments, options, "");
}

Outcome run_wavefill_to(const std::string& path, const std::vector<std::string>& arguments) {
  return run(arguments, {}, path);
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> list;
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (fs::temp_directory_path() / "wavefill-test-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::vector<std::string> TemporaryDirectory::names() const {
  std::vector<std::string> list;
  for (const auto& entry : fs::directory_iterator(path_)) list.push_back(entry.path().filename().string());
  std::ranges::sort(list);
  return list;
}

}  // namespace wavefill::test
