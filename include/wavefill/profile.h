// A profile: the split settings that were measured to be best on one device, for one shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wavefill/export.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

// What a profile was measured for. One function (key_of) makes it for the tuner and for the runtime.
struct ProfileKey {
  std::string device;  // DeviceSpec::name
  std::int32_t num_sms = 0;
  std::int64_t smem_per_block_optin_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::string driver_version;
  std::string cuda_version;
  std::string kernel;  // KernelSpec::name
  std::int32_t heads_per_cta = 0;
  std::int32_t kv_tile = 0;
  std::int32_t threads = 0;
  std::int64_t smem_bytes = 0;
  std::int32_t ctas_per_sm = 0;
  std::string kv_format;  // to_string(KvFormat)
  std::int32_t d_qk = 0;
  std::int32_t num_heads = 0;
  std::int32_t s_q = 0;
  std::int32_t topk = 0;
  std::int32_t extra_topk = 0;
  std::string library_version;  // library_build(): another build may have another kernel
  // How calls were timed, which is how they have to be served: "graph" replay on a GPU, "direct" calls on a
  // CPU. What is best in one need not be in the other.
  std::string timing;

  friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
};
WAVEFILL_API ProfileKey key_of(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape);

// A field of a key in which two differ, with both values as text.
struct KeyDifference {
  std::string field;
  std::string a;
  std::string b;
};
WAVEFILL_API std::vector<KeyDifference> differences(const ProfileKey& a, const ProfileKey& b);

struct ProfileEntry {
  std::int32_t batch = 0;
  Setting setting;      // never `measured`
  double us = 0.0;      // median time of one call as measured
  double us_low = 0.0;  // 95 % interval of the median
  double us_high = 0.0;
  std::int32_t samples = 0;

  friend bool operator==(const ProfileEntry&, const ProfileEntry&) = default;
};

class WAVEFILL_API Profile {
 public:
  Profile(ProfileKey key, std::vector<ProfileEntry> entries);  // entries sorted by batch

  // Strict JSON: UTF-8, known schema, no duplicated keys, no unknown fields, finite positive numbers.
  // us_low <= us <= us_high, at least one entry. Errors: corrupt_data (what and where), not_found /
  // unavailable / invalid_argument (file).
  static Result<Profile> parse(std::string_view json);
  static Result<Profile> read(const std::string& path);
  std::string to_json() const;

  const ProfileKey& key() const { return key_; }
  const std::vector<ProfileEntry>& entries() const { return entries_; }

  // The setting for `batch`: the entry of that batch, else that of the next larger measured batch
  // (what a graph-captured server pads to), never that of a smaller one. Errors: mismatch (the first
  // differing field and both values), not_found (batch beyond the largest measured).
  Result<Setting> lookup(const ProfileKey& key, std::int32_t batch) const;

  // The entry that serves `batch`: its own, else that of the next larger measured batch. nullptr beyond the
  // largest.
  const ProfileEntry* serving(std::int32_t batch) const;

  // Whether `batch` has an entry of its own.
  bool has_batch(std::int32_t batch) const;

  friend bool operator==(const Profile&, const Profile&) = default;

 private:
  ProfileKey key_;
  std::vector<ProfileEntry> entries_;
};

}  // namespace wavefill
