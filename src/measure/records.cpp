#include "measure/records.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>
#include <utility>

#include "core/errors.h"
#include "plan/profile_file.h"

namespace wavefill {
namespace {

constexpr std::array<std::pair<Phase, std::string_view>, 4> kPhases = {{
    {Phase::search, "search"},
    {Phase::confirm, "confirm"},
    {Phase::dip, "dip"},
    {Phase::kernels, "kernels"},
}};

constexpr std::array<std::pair<StopReason, std::string_view>, 7> kStopReasons = {{
    {StopReason::none, "none"},
    {StopReason::precision, "precision"},
    {StopReason::max_samples, "max_samples"},
    {StopReason::time_budget, "time_budget"},
    {StopReason::eliminated, "eliminated"},
    {StopReason::rejected, "rejected"},
    {StopReason::cancelled, "cancelled"},
}};

template <typename Enum, std::size_t n>
std::string_view name_of(const std::array<std::pair<Enum, std::string_view>, n>& table, Enum value) {
  for (const auto& [key, name] : table) {
    if (key == value) return name;
  }
  return "unknown";
}

template <typename Enum, std::size_t n>
Result<Enum> value_of(const std::array<std::pair<Enum, std::string_view>, n>& table, std::string_view what,
                      std::string_view text) {
  std::string allowed;
  for (const auto& [key, name] : table) {
    if (name == text) return key;
    allowed += allowed.empty() ? "" : ", ";
    allowed += name;
  }
  return invalid_argument("{} is '{}'; allowed: {}", what, text, allowed);
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += '=';
  for (const char byte : value) {
    if (byte == '\\') {
      text += "\\\\";
    } else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      text += byte;
    }
  }
  text += '\n';
}

auto identity(const Measurement& m) {
  return std::tie(m.run, m.phase, m.batch, m.setting, m.replica, m.round);
}

template <typename Record>
std::vector<Record> of_run(const std::vector<Record>& records, RunId run) {
  std::vector<Record> found;
  std::ranges::copy_if(records, std::back_inserter(found), [run](const Record& r) { return r.run == run; });
  return found;
}

}  // namespace

Status measured_before(const Measurement& measurement) {
  return invalid_argument("run {}, {}, batch {}, {}, replica {}, round {} was measured before",
                          measurement.run, to_string(measurement.phase), measurement.batch,
                          measurement.setting, measurement.replica, measurement.round);
}

std::string_view to_string(Phase phase) { return name_of(kPhases, phase); }
Result<Phase> parse_phase(std::string_view text) { return value_of(kPhases, "phase", text); }
std::string_view to_string(StopReason reason) { return name_of(kStopReasons, reason); }
Result<StopReason> parse_stop_reason(std::string_view text) {
  return value_of(kStopReasons, "stop reason", text);
}

std::string to_string(const RunKey& key) {
  const ProfileKey& profile = key.profile;
  std::string text;
  for_each_key_field([&](const char* name, auto field, std::int32_t) {
    append_field(text, name, fmt::format("{}", profile.*field));
  });
  append_field(text, "deployed", key.deployed);
  append_field(text, "batches", key.batches);
  append_field(text, "timed", key.timing);
  append_field(text, "seed", std::to_string(key.seed));
  return text;
}

Result<RunState> MemorySink::begin(const RunKey& key, const Environment&, bool resume) {
  RunState state;
  const auto last = std::ranges::find(runs_.rbegin(), runs_.rend(), key, &Run::key);
  if (resume && last != runs_.rend() && !last->finished) {
    state.id = static_cast<RunId>(runs_.rend() - last);
    state.resumed = true;
    state.measurements = of_run(measurements_, state.id);
    state.verifications = of_run(verifications_, state.id);
    state.ends = of_run(ends_, state.id);
    return state;
  }
  runs_.push_back({key, false});
  state.id = static_cast<RunId>(runs_.size());
  return state;
}

Status MemorySink::record(std::span<const Measurement> round) {
  for (const Measurement& measurement : round) {
    const auto same = [&](const Measurement& known) { return identity(known) == identity(measurement); };
    if (std::ranges::any_of(measurements_, same)) return measured_before(measurement);
  }
  measurements_.insert(measurements_.end(), round.begin(), round.end());
  return {};
}

Status MemorySink::record(const Verification& verification) {
  verifications_.push_back(verification);
  return {};
}

Status MemorySink::record(const ArmEnd& end) {
  ends_.push_back(end);
  return {};
}

Status MemorySink::finish(const DecisionRecord& decision) {
  if (decision.run < 1 || decision.run > static_cast<RunId>(runs_.size())) {
    return make_status(StatusCode::not_found, "run {} does not exist; there are {}", decision.run,
                       runs_.size());
  }
  runs_[static_cast<std::size_t>(decision.run - 1)].finished = true;
  decisions_.push_back(decision);
  return {};
}

void MemorySink::suspend(RunId) {}

std::int64_t unix_time_us() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace wavefill
