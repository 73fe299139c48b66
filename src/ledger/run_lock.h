// One process at a time for one run key.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wavefill/status.h"

namespace wavefill {

// A lock on a file beside the ledger, named by a hash of the key, since keys hold device names with any
// characters. The kernel lets go of it when the process dies, so there is no stale lock to clean up; the
// file holds the owner's pid for whoever is refused.
class RunLock {
 public:
  RunLock() = default;  // holds nothing
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

  // Waits a few seconds for a process that is just dying.
  // Errors: unavailable (held by another process, whose pid is named, or the file cannot be made).
  static Result<RunLock> acquire(const std::string& ledger_path, std::string_view key);

  void release();

 private:
  RunLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  // Holds nothing if another process has the lock; `owner` is then its pid.
  static Result<RunLock> try_acquire(const std::string& path, std::string& owner);

  int descriptor_ = -1;
  std::string path_;
};

}  // namespace wavefill
