// Reading the ledger back.
#include "core/errors.h"
#include "ledger/ledger.h"
#include "ledger/ledger_impl.h"

namespace wavefill {
namespace {

// Every row of a prepared and bound statement through `read`.
template <typename Row, typename Read>
Result<std::vector<Row>> collect(Result<sqlite::Statement> select, Read read) {
  if (!select.ok()) return select.status();
  std::vector<Row> rows;
  for (;;) {
    const auto more = select->step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    auto row = read(*select);
    if (!row.ok()) return row.status();
    rows.push_back(std::move(*row));
  }
}

Result<sqlite::Statement> prepare_for(const sqlite::Database& database, std::string_view sql,
                                      std::int64_t parameter) {
  auto select = database.prepare(sql);
  if (select.ok()) select->bind(1, parameter);
  return select;
}

// A negative LIMIT is none.
std::int64_t sql_limit(std::int64_t limit) { return limit > 0 ? limit : -1; }

std::int32_t int32(const sqlite::Statement& row, int column) {
  return static_cast<std::int32_t>(row.integer(column));
}

Result<Measurement> read_measurement(const sqlite::Statement& row) {
  const auto phase = parse_phase(row.text(1));
  if (!phase.ok()) return phase.status();
  return Measurement{.run = row.integer(0),
                     .phase = *phase,
                     .batch = int32(row, 2),
                     .setting = row.text(3),
                     .replica = int32(row, 4),
                     .round = int32(row, 5),
                     .position = int32(row, 6),
                     .calls = int32(row, 7),
                     .us = row.real(8),
                     .contaminated = row.integer(9) != 0,
                     .reason = row.text(10),
                     .at_unix_us = row.integer(11)};
}

Result<Verification> read_verification(const sqlite::Statement& row) {
  return Verification{.run = row.integer(0),
                      .batch = int32(row, 1),
                      .setting = row.text(2),
                      .passed = row.integer(3) != 0,
                      .max_o_error = row.real(4),
                      .max_lse_error = row.real(5),
                      .message = row.text(6),
                      .at_unix_us = row.integer(7)};
}

Result<ArmEnd> read_end(const sqlite::Statement& row) {
  const auto phase = parse_phase(row.text(1));
  if (!phase.ok()) return phase.status();
  const auto reason = parse_stop_reason(row.text(5));
  if (!reason.ok()) return reason.status();
  return ArmEnd{.run = row.integer(0),
                .phase = *phase,
                .batch = int32(row, 2),
                .setting = row.text(3),
                .replica = int32(row, 4),
                .reason = *reason,
                .samples = int32(row, 6),
                .at_unix_us = row.integer(7)};
}

Result<DecisionRecord> read_decision(const sqlite::Statement& row) {
  return DecisionRecord{.run = row.integer(0),
                        .deployed = row.text(1),
                        .decision = row.text(2),
                        .summary = row.text(3),
                        .json = row.text(4),
                        .at_unix_us = row.integer(5)};
}

Result<RunSummary> read_run(const sqlite::Statement& row) {
  RunSummary run;
  run.id = row.integer(0);
  ProfileKey& profile = run.key.profile;  // what listings show; the whole key is in the column `key`
  profile.device = row.text(1);
  profile.num_sms = int32(row, 2);
  profile.kernel = row.text(3);
  profile.heads_per_cta = int32(row, 4);
  profile.kv_tile = int32(row, 5);
  profile.ctas_per_sm = int32(row, 6);
  profile.kv_format = row.text(7);
  profile.d_qk = int32(row, 8);
  profile.num_heads = int32(row, 9);
  profile.s_q = int32(row, 10);
  profile.topk = int32(row, 11);
  profile.extra_topk = int32(row, 12);
  profile.library_version = row.text(13);
  run.key.deployed = row.text(14);
  run.key.batches = row.text(15);
  run.key.timing = row.text(16);
  run.key.seed = static_cast<std::uint64_t>(row.integer(17));
  run.started_unix_us = row.integer(18);
  run.num_measurements = row.integer(19);
  run.num_contaminated = row.integer(20);
  run.num_sessions = int32(row, 21);
  run.finished = row.integer(22) != 0;
  run.decision = row.text(23);
  run.summary = row.text(24);
  return run;
}

constexpr std::string_view kSelectRuns =
    "SELECT runs.id, device, num_sms, kernel, heads_per_cta, kv_tile, ctas_per_sm, kv_format, d_qk, "
    "num_heads, "
    "s_q, topk, extra_topk, library_version, runs.deployed, batches, timing, seed, started_unix_us, "
    "(SELECT count(*) FROM measurements WHERE run = runs.id), "
    "(SELECT count(*) FROM measurements WHERE run = runs.id AND contaminated = 1), "
    "(SELECT count(*) FROM sessions WHERE run = runs.id), "
    "decisions.run IS NOT NULL, decisions.decision, decisions.summary "
    "FROM runs LEFT JOIN decisions ON decisions.run = runs.id ORDER BY runs.id DESC LIMIT ?1";

constexpr std::string_view kSelectDecision =
    "SELECT run, deployed, decision, summary, json, at_unix_us FROM decisions ";

}  // namespace

Result<std::vector<RunSummary>> Ledger::runs(std::int64_t limit) const {
  return collect<RunSummary>(prepare_for(impl_->database, kSelectRuns, sql_limit(limit)), read_run);
}

Result<std::vector<DecisionRecord>> Ledger::decisions(std::int64_t limit) const {
  const std::string sql = std::string(kSelectDecision) + "ORDER BY at_unix_us DESC, run DESC LIMIT ?1";
  return collect<DecisionRecord>(prepare_for(impl_->database, sql, sql_limit(limit)), read_decision);
}

Result<std::vector<Measurement>> Ledger::measurements(RunId run) const {
  return collect<Measurement>(
      prepare_for(
          impl_->database,
          "SELECT run, phase, batch, setting, replica, round, position, calls, us, contaminated, reason, "
          "at_unix_us FROM measurements WHERE run = ?1 ORDER BY id",
          run),
      read_measurement);
}

Result<std::vector<Verification>> Ledger::verifications(RunId run) const {
  return collect<Verification>(
      prepare_for(impl_->database,
                  "SELECT run, batch, setting, passed, max_o_error, max_lse_error, message, at_unix_us "
                  "FROM verifications WHERE run = ?1 ORDER BY id",
                  run),
      read_verification);
}

Result<std::vector<ArmEnd>> Ledger::ends(RunId run) const {
  return collect<ArmEnd>(
      prepare_for(impl_->database,
                  "SELECT run, phase, batch, setting, replica, reason, samples, at_unix_us "
                  "FROM arm_ends WHERE run = ?1 ORDER BY id",
                  run),
      read_end);
}

Result<Environment> Ledger::environment(RunId run) const {
  const auto fields =
      collect<EnvironmentField>(prepare_for(impl_->database,
                                            "SELECT name, value FROM environments WHERE session = "
                                            "(SELECT max(id) FROM sessions WHERE run = ?1) ORDER BY position",
                                            run),
                                [](const sqlite::Statement& row) {
                                  return Result<EnvironmentField>(EnvironmentField{row.text(0), row.text(1)});
                                });
  if (!fields.ok()) return fields.status();
  if (fields->empty()) {
    return make_status(StatusCode::not_found, "ledger {} has no environment of a run {}", impl_->path, run);
  }
  return Environment{*fields};
}

Result<DecisionRecord> Ledger::decision(RunId run) const {
  const std::string sql = std::string(kSelectDecision) + "WHERE run = ?1";
  const auto found = collect<DecisionRecord>(prepare_for(impl_->database, sql, run), read_decision);
  if (!found.ok()) return found.status();
  if (found->empty()) {
    return make_status(StatusCode::not_found, "ledger {} has no decision of a run {}", impl_->path, run);
  }
  return found->front();
}

}  // namespace wavefill
