#include "tune/profile_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/errors.h"
#include "tune/candidates.h"

namespace wavefill {
namespace {

Status system_error(std::string_view call, const std::string& path) {
  return make_status(StatusCode::unavailable, "{} of {} failed: {}", call, path, std::strerror(errno));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Gone unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  void release() { path_.clear(); }

 private:
  std::string path_;
};

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(descriptor) != 0) return system_error("fsync", path);
  return {};
}

// A rename is on the disk once its directory is.
Status flush_directory(const std::string& directory) {
  const FileDescriptor descriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) return system_error("open", directory);
  if (fsync(descriptor.get()) != 0) return system_error("fsync", directory);
  return {};
}

// mkstemp makes files that only their owner can read; a profile is for the server, which may run as another
// user. A file that is replaced keeps its mode.
Status set_mode(int descriptor, const std::string& path) {
  constexpr mode_t kReadableByAll = 0644;
  constexpr mode_t kPermissions = 0777;
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  if (fchmod(descriptor, exists ? old.st_mode & kPermissions : kReadableByAll) != 0) {
    return system_error("fchmod for", path);
  }
  return {};
}

// Plans each batch as the runtime would with this file, and as the tuner meant it.
Status check_as_runtime(const std::string& path, const Profile& meant, const DeviceSpec& device,
                        const KernelSpec& kernel, const DecodeShape& shape) {
  const auto read = Profile::read(path);
  if (!read.ok()) return read.status();
  if (!(*read == meant)) {
    return make_status(StatusCode::mismatch, "{} was read back as another profile than was written", path);
  }
  PlanRequest request;
  request.device = device;
  request.kernel = kernel;
  request.shape = shape;
  const auto profile = std::make_shared<const Profile>(*read);
  for (const ProfileEntry& entry : meant.entries()) {
    request.shape.batch = entry.batch;
    request.setting = entry.setting;
    const auto expected = make_plan(request);
    if (!expected.ok()) return expected.status();
    request.setting = Setting{};
    request.setting.kind = PolicyKind::measured;
    request.setting.profile = profile;
    request.setting.profile_path = path;
    const auto found = make_plan(request);
    if (!found.ok()) return found.status();
    if (!same_work(*expected, *found)) {
      return make_status(StatusCode::mismatch, "at batch {} the runtime plans {} CTAs from {}; {} has {}",
                         entry.batch, found->num_workers(), path, to_string(entry.setting),
                         expected->num_workers());
    }
  }
  return {};
}

}  // namespace

Status write_profile(const std::string& path, const Profile& profile, const DeviceSpec& device,
                     const KernelSpec& kernel, const DecodeShape& shape) {
  std::string name = path + ".XXXXXX";
  const FileDescriptor descriptor(mkostemp(name.data(), O_CLOEXEC));
  if (descriptor.get() < 0) return system_error("creating a temporary file beside", path);
  TemporaryFile temporary(name);
  WAVEFILL_RETURN_IF_ERROR(set_mode(descriptor.get(), path));
  WAVEFILL_RETURN_IF_ERROR(write_all(descriptor.get(), profile.to_json(), temporary.path()));
  WAVEFILL_RETURN_IF_ERROR(check_as_runtime(temporary.path(), profile, device, kernel, shape));
  if (rename(temporary.path().c_str(), path.c_str()) != 0) return system_error("rename", path);
  temporary.release();
  return flush_directory(directory_of(path));
}

}  // namespace wavefill
