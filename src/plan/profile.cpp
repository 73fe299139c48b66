// Profiles: what they were measured for, and which setting they have for a batch.
#include "wavefill/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "core/errors.h"
#include "core/parse.h"
#include "plan/profile_file.h"
#include "wavefill/version.h"

namespace wavefill {
namespace {

Status same_key(const ProfileKey& measured, const ProfileKey& seen) {
  const std::vector<KeyDifference> differing = differences(measured, seen);
  if (differing.empty()) return {};
  const KeyDifference& first = differing.front();
  return make_status(StatusCode::mismatch, "the profile was measured for {} {}; this is {}", first.field,
                     first.a, first.b);
}

// A pipe would block and a device has no end, so only plain files (or links to them) are opened.
Status check_file(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return invalid_argument("profile path is {}; allowed: the path of a file", quote_text(path));
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return make_status(StatusCode::not_found, "profile {} does not exist", path);
  }
  if (error) {
    return make_status(StatusCode::unavailable, "profile {} cannot be read: {}", path, error.message());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return make_status(StatusCode::unavailable, "profile {} is {}; allowed: a file", path,
                       std::filesystem::is_directory(status) ? "a directory" : "not a regular file");
  }
  return {};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// One byte beyond the limit is read, so that a file that grows meanwhile is still refused by the parser.
Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    const std::error_code error(errno, std::generic_category());
    return make_status(StatusCode::unavailable, "profile {} cannot be read: {}", path, error.message());
  }
  std::string text;
  std::array<char, 65'536> buffer{};
  while (text.size() <= kMaxProfileBytes) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), count);
    if (count < buffer.size()) break;
  }
  if (std::ferror(file.get()) != 0) {
    return make_status(StatusCode::unavailable, "profile {} cannot be read to its end", path);
  }
  return text;
}

}  // namespace

ProfileKey key_of(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape) {
  return {.device = device.name,
          .num_sms = device.num_sms,
          .smem_per_block_optin_bytes = device.smem_per_block_optin_bytes,
          .l2_bytes = device.l2_bytes,
          .driver_version = device.driver_version,
          .cuda_version = device.cuda_version,
          .kernel = kernel.name,
          .heads_per_cta = kernel.heads_per_cta,
          .kv_tile = kernel.kv_tile,
          .threads = kernel.threads,
          .smem_bytes = kernel.smem_bytes,
          .ctas_per_sm = kernel.ctas_per_sm,
          .kv_format = std::string(to_string(shape.kv_format)),
          .d_qk = shape.d_qk,
          .num_heads = shape.num_heads,
          .s_q = shape.s_q,
          .topk = shape.topk,
          .extra_topk = shape.extra_topk,
          .library_version = std::string(library_build()),
          .timing = device.compute_capability == 0 ? "direct" : "graph"};
}

std::vector<KeyDifference> differences(const ProfileKey& a, const ProfileKey& b) {
  std::vector<KeyDifference> differing;
  for_each_key_field([&](const char* name, auto field, std::int32_t) {
    if (a.*field != b.*field) {
      differing.push_back({name, fmt::format("{}", a.*field), fmt::format("{}", b.*field)});
    }
  });
  return differing;
}

Profile::Profile(ProfileKey key, std::vector<ProfileEntry> entries)
    : key_(std::move(key)), entries_(std::move(entries)) {}

Result<Profile> Profile::read(const std::string& path) {
  WAVEFILL_RETURN_IF_ERROR(check_file(path));
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.status();
  Result<Profile> profile = parse(*text);
  if (!profile.ok()) {
    return make_status(profile.status().code(), "profile {}: {}", path, profile.status().message());
  }
  return profile;
}

Result<Setting> Profile::lookup(const ProfileKey& key, std::int32_t batch) const {
  WAVEFILL_RETURN_IF_ERROR(same_key(key_, key));
  if (batch < 1) return invalid_argument("batch is {}; allowed: >= 1", batch);
  const ProfileEntry* entry = serving(batch);
  if (entry == nullptr) {
    return make_status(StatusCode::not_found, "the profile of {} has no entry for batch {}; measured: {}",
                       key_.device, batch,
                       entries_.empty() ? "none" : fmt::format("up to {}", entries_.back().batch));
  }
  return entry->setting;
}

const ProfileEntry* Profile::serving(std::int32_t batch) const {
  const auto entry = std::ranges::lower_bound(entries_, batch, {}, &ProfileEntry::batch);
  return entry == entries_.end() ? nullptr : &*entry;
}

bool Profile::has_batch(std::int32_t batch) const {
  return std::ranges::binary_search(entries_, batch, {}, &ProfileEntry::batch);
}

}  // namespace wavefill
