#include "cli/interrupt.h"

#include <csignal>

namespace wavefill::cli {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;

// SA_RESETHAND has put the default action back by the time this runs, so the next signal kills.
void on_signal(int) { was_interrupted = 1; }

void install(int signal) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  was_interrupted = 0;
  install(SIGINT);
  install(SIGTERM);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() { return was_interrupted != 0; }

}  // namespace wavefill::cli
