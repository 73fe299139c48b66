// Ctrl-C during long work: the first asks it to stop where nothing is lost, the second kills.
#pragma once

namespace wavefill::cli {

// While one lives, SIGINT and SIGTERM set interrupted() once; after that they act as by default.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace wavefill::cli
