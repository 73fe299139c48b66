#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/errors.h"

extern char** environ;

namespace wavefill::cli {
namespace {

// A pipe whose ends close on every way out.
class Pipe {
 public:
  Pipe() { is_open_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return is_open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_write_end() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (is_open_ && ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
  bool is_open_ = false;
};

// Both streams at once: a program that fills one while the other is waited for would never end.
void read_both(const Pipe& out, const Pipe& err, ProcessOutcome& outcome) {
  std::array<pollfd, 2> waiting = {{{.fd = out.read_end(), .events = POLLIN, .revents = 0},
                                    {.fd = err.read_end(), .events = POLLIN, .revents = 0}}};
  std::array<char, 4096> buffer{};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      const ssize_t got = ::read(waiting[i].fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        waiting[i].fd = -1;  // poll() passes over it
      } else {
        (i == 0 ? outcome.out : outcome.err).append(buffer.data(), static_cast<std::size_t>(got));
      }
    }
  }
}

}  // namespace

Result<ProcessOutcome> run_process(const std::vector<std::string>& arguments) {
  Pipe out;
  Pipe err;
  if (!out.is_open() || !err.is_open()) {
    return make_status(StatusCode::unavailable, "no pipe to {}: {}", arguments.front(), std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), STDERR_FILENO);
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return make_status(StatusCode::unavailable, "{} cannot be started: {}", arguments.front(),
                       std::strerror(error));
  }
  out.close_write_end();
  err.close_write_end();
  ProcessOutcome outcome;
  read_both(out, err, outcome);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) {
    return make_status(StatusCode::unavailable, "{} was ended by signal {}", arguments.front(),
                       WTERMSIG(status));
  }
  outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace wavefill::cli
