#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxFileBytes = 256LL << 20;

Status system_error(std::string_view what, const std::string& path, int error) {
  return make_status(StatusCode::unavailable, "{} {}: {}", what, quote_text(path), std::strerror(error));
}

std::string directory_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

Result<std::string> read_file(std::string_view option, const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) {
    return make_status(StatusCode::not_found, "{} is {}, which does not exist; allowed: a file", option,
                       quote_text(path));
  }
  if (file.get() < 0) return system_error("cannot read", path, errno);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return system_error("cannot read", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return invalid_argument("{} is {}, a directory; allowed: a file", option, quote_text(path));
  }
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(text.size()) > kMaxFileBytes) {
      return invalid_argument("{} is {} with more than {} bytes; allowed: at most that", option,
                              quote_text(path), kMaxFileBytes);
    }
  }
}

Status write_file(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return system_error("cannot write", path, errno);
  int error = write_all(file.get(), content);
  if (error == 0 && ::fchmod(file.get(), 0644) != 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return system_error("cannot write", path, error);
}

Status check_writable(std::string_view option, const std::string& path) {
  const std::string directory = directory_of(path);
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return invalid_argument("{} is {}, a directory; allowed: a file", option, quote_text(path));
  }
  if (!fs::is_directory(directory, error)) {
    return make_status(StatusCode::not_found, "{} is {}, but there is no directory {}", option,
                       quote_text(path), quote_text(directory));
  }
  // Asking access() would believe a read-only or full file system; making a file does not.
  std::string probe = path + ".XXXXXX";
  const int fd = ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) return system_error("cannot write", path, errno);
  ::close(fd);
  ::unlink(probe.c_str());
  return {};
}

Status make_parent_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(directory_of(path), error);
  if (error) return system_error("cannot create the directory of", path, error.value());
  return {};
}

Result<std::string> default_ledger_path() {
  constexpr const char* kFile = "wavefill/ledger.sqlite";
  // The XDG base directory specification ignores relative paths in the variable.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return (fs::path(state) / kFile).string();
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] != '\0') {
    return (fs::path(home) / ".local/state" / kFile).string();
  }
  return Status(StatusCode::unavailable,
                "neither HOME nor XDG_STATE_HOME is set; name the ledger with --ledger");
}

}  // namespace wavefill::cli
