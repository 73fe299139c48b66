#include "ledger/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "core/errors.h"

namespace wavefill {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325ULL;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100'0000'01B3ULL;
  return hash;
}

// A killed process lets go of its lock only once its memory is gone, which takes a moment.
constexpr std::chrono::milliseconds kGrace{3000};
constexpr std::chrono::milliseconds kRetryEvery{20};

// Whether `descriptor` is still the file that `path` names. The last owner removes the file while holding
// the lock; who waited on the removed file would hold a lock that nobody else can see.
bool is_current(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

std::string read_owner(int descriptor) {
  char text[32] = {};
  const ssize_t length = pread(descriptor, text, sizeof(text) - 1, 0);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string("unknown");
}

}  // namespace

RunLock::RunLock(RunLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  if (this != &other) {
    release();
    descriptor_ = std::exchange(other.descriptor_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

RunLock::~RunLock() { release(); }

Result<RunLock> RunLock::acquire(const std::string& ledger_path, std::string_view key) {
  const std::string path = fmt::format("{}.{:016x}.lock", ledger_path, fnv1a(key));
  const auto give_up = std::chrono::steady_clock::now() + kGrace;
  for (;;) {
    std::string owner;
    auto lock = try_acquire(path, owner);
    if (!lock.ok() || lock->descriptor_ >= 0) return lock;
    if (std::chrono::steady_clock::now() >= give_up) {
      return make_status(
          StatusCode::unavailable,
          "process {} is tuning the same device, kernel, shape and batches with the ledger {}; "
          "wait for it, or use another ledger",
          owner, ledger_path);
    }
    std::this_thread::sleep_for(kRetryEvery);
  }
}

Result<RunLock> RunLock::try_acquire(const std::string& path, std::string& owner) {
  constexpr mode_t kMode = 0644;
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    return make_status(StatusCode::unavailable, "the lock file {} cannot be made: {}", path,
                       std::strerror(errno));
  }
  RunLock lock(descriptor, {});  // without a path: the file is not ours to remove yet
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return make_status(StatusCode::unavailable, "locking {} failed: {}", path, std::strerror(errno));
    }
    owner = read_owner(descriptor);
    return RunLock();
  }
  if (!is_current(descriptor, path)) return RunLock();
  lock.path_ = path;
  const std::string us = std::to_string(getpid());
  if (ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, us.data(), us.size(), 0) != static_cast<ssize_t>(us.size())) {
    return make_status(StatusCode::unavailable, "writing {} failed: {}", path, std::strerror(errno));
  }
  return lock;
}

void RunLock::release() {
  if (descriptor_ < 0) return;
  if (!path_.empty()) unlink(path_.c_str());
  close(descriptor_);
  descriptor_ = -1;
}

}  // namespace wavefill
