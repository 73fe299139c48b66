#include "ledger/ledger.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.h"
#include "ledger/ledger_impl.h"
#include "ledger/schema.h"

namespace wavefill {

namespace {

constexpr std::string_view kInsertRun =
    "INSERT INTO runs (key, device, num_sms, kernel, heads_per_cta, kv_tile, ctas_per_sm, kv_format, d_qk, "
    "num_heads, s_q, topk, extra_topk, library_version, deployed, batches, timing, seed, started_unix_us) "
    "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)";

constexpr std::string_view kUnfinishedRun =
    "SELECT id FROM runs WHERE key = ?1 AND id = (SELECT max(id) FROM runs WHERE key = ?1) "
    "AND NOT EXISTS (SELECT 1 FROM decisions WHERE run = runs.id)";

constexpr std::string_view kInsertMeasurement =
    "INSERT INTO measurements (run, phase, batch, setting, replica, round, position, calls, us, "
    "contaminated, "
    "reason, at_unix_us) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";

// The path in front of SQLite's own words.
Status with_path(const Status& status, const std::string& path) {
  if (status.ok() || status.message().find(path) != std::string::npos) return status;
  return make_status(status.code(), "ledger {}: {}", path, status.message());
}

void bind_key(sqlite::Statement& insert, const RunKey& key) {
  const ProfileKey& profile = key.profile;
  insert.bind(1, to_string(key))
      .bind(2, profile.device)
      .bind(3, std::int64_t{profile.num_sms})
      .bind(4, profile.kernel)
      .bind(5, std::int64_t{profile.heads_per_cta})
      .bind(6, std::int64_t{profile.kv_tile})
      .bind(7, std::int64_t{profile.ctas_per_sm})
      .bind(8, profile.kv_format)
      .bind(9, std::int64_t{profile.d_qk})
      .bind(10, std::int64_t{profile.num_heads})
      .bind(11, std::int64_t{profile.s_q})
      .bind(12, std::int64_t{profile.topk})
      .bind(13, std::int64_t{profile.extra_topk})
      .bind(14, profile.library_version)
      .bind(15, key.deployed)
      .bind(16, key.batches)
      .bind(17, key.timing)
      .bind(18, static_cast<std::int64_t>(key.seed));
}

Result<RunId> unfinished_run(const sqlite::Database& database, const RunKey& key) {
  auto select = database.prepare(kUnfinishedRun);
  if (!select.ok()) return select.status();
  select->bind(1, to_string(key));
  const auto row = select->step();
  if (!row.ok()) return row.status();
  return *row ? select->integer(0) : RunId{0};
}

Result<RunId> insert_run(const sqlite::Database& database, const RunKey& key) {
  auto insert = database.prepare(kInsertRun);
  if (!insert.ok()) return insert.status();
  bind_key(*insert, key);
  insert->bind(19, unix_time_us());
  WAVEFILL_RETURN_IF_ERROR(insert->run());
  return database.last_insert_id();
}

Status insert_session(const sqlite::Database& database, RunId run, const Environment& environment) {
  auto session = database.prepare("INSERT INTO sessions (run, pid, started_unix_us) VALUES (?1,?2,?3)");
  if (!session.ok()) return session.status();
  session->bind(1, run).bind(2, std::int64_t{getpid()}).bind(3, unix_time_us());
  WAVEFILL_RETURN_IF_ERROR(session->run());
  const std::int64_t id = database.last_insert_id();
  auto field =
      database.prepare("INSERT INTO environments (session, position, name, value) VALUES (?1,?2,?3,?4)");
  if (!field.ok()) return field.status();
  std::int64_t position = 0;
  for (const EnvironmentField& item : environment.fields) {
    field->bind(1, id).bind(2, position++).bind(3, item.name).bind(4, item.value);
    WAVEFILL_RETURN_IF_ERROR(field->run());
  }
  return {};
}

Status insert_measurement(sqlite::Statement& insert, const Measurement& measurement) {
  insert.bind(1, measurement.run)
      .bind(2, to_string(measurement.phase))
      .bind(3, std::int64_t{measurement.batch})
      .bind(4, measurement.setting)
      .bind(5, std::int64_t{measurement.replica})
      .bind(6, std::int64_t{measurement.round})
      .bind(7, std::int64_t{measurement.position})
      .bind(8, std::int64_t{measurement.calls})
      .bind(9, measurement.us)
      .bind(10, std::int64_t{measurement.contaminated ? 1 : 0})
      .bind(11, measurement.reason)
      .bind(12, measurement.at_unix_us);
  const Status status = insert.run();
  return sqlite::is_duplicate(status) ? measured_before(measurement) : status;
}

Status insert_decision(const sqlite::Database& database, RunId run, const DecisionRecord& decision) {
  auto insert = database.prepare(
      "INSERT INTO decisions (run, deployed, decision, summary, json, at_unix_us) VALUES "
      "(?1,?2,?3,?4,?5,?6)");
  if (!insert.ok()) return insert.status();
  insert->bind(1, run)
      .bind(2, decision.deployed)
      .bind(3, decision.decision)
      .bind(4, decision.summary)
      .bind(5, decision.json)
      .bind(6, decision.at_unix_us);
  return insert->run();
}

Result<RunId> insert_decided_run(const sqlite::Database& database, const RunKey& key,
                                 const Environment& environment, const DecisionRecord& decision) {
  auto transaction = sqlite::Transaction::begin(database);
  if (!transaction.ok()) return transaction.status();
  const Result<RunId> id = insert_run(database, key);
  if (!id.ok()) return id.status();
  WAVEFILL_RETURN_IF_ERROR(insert_session(database, *id, environment));
  WAVEFILL_RETURN_IF_ERROR(insert_decision(database, *id, decision));
  WAVEFILL_RETURN_IF_ERROR(transaction->commit());
  return *id;
}

Status check_path(const std::string& path, bool must_exist) {
  if (path.empty()) return invalid_argument("the ledger's path is empty; allowed: a file");
  struct stat file {};
  if (must_exist && stat(path.c_str(), &file) != 0) {
    return make_status(StatusCode::not_found, "there is no ledger {}", path);
  }
  return {};
}

}  // namespace

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const std::string& path) {
  WAVEFILL_RETURN_IF_ERROR(check_path(path, /*must_exist=*/false));
  auto database = sqlite::Database::open(path, /*create=*/true);
  if (!database.ok()) return with_path(database.status(), path);
  if (const Status status = prepare_schema(*database, path); !status.ok()) return with_path(status, path);
  return Ledger(std::make_unique<Impl>(Impl{path, std::move(*database), RunLock{}, 0}));
}

Result<Ledger> Ledger::open_existing(const std::string& path) {
  WAVEFILL_RETURN_IF_ERROR(check_path(path, /*must_exist=*/true));
  return open(path);
}

Result<RunState> Ledger::begin(const RunKey& key, const Environment& environment, bool resume) {
  auto lock = RunLock::acquire(impl_->path, to_string(key));
  if (!lock.ok()) return lock.status();
  auto transaction = sqlite::Transaction::begin(impl_->database);
  if (!transaction.ok()) return with_path(transaction.status(), impl_->path);
  RunState state;
  if (resume) {
    const auto known = unfinished_run(impl_->database, key);
    if (!known.ok()) return with_path(known.status(), impl_->path);
    state.id = *known;
    state.resumed = *known != 0;
  }
  if (!state.resumed) {
    const auto id = insert_run(impl_->database, key);
    if (!id.ok()) return with_path(id.status(), impl_->path);
    state.id = *id;
  }
  WAVEFILL_RETURN_IF_ERROR(with_path(insert_session(impl_->database, state.id, environment), impl_->path));
  WAVEFILL_RETURN_IF_ERROR(with_path(transaction->commit(), impl_->path));
  impl_->lock = std::move(*lock);
  impl_->locked_run = state.id;
  if (!state.resumed) return state;

  auto known = measurements(state.id);
  auto checked = verifications(state.id);
  auto ended = ends(state.id);
  if (!known.ok()) return known.status();
  if (!checked.ok()) return checked.status();
  if (!ended.ok()) return ended.status();
  state.measurements = std::move(*known);
  state.verifications = std::move(*checked);
  state.ends = std::move(*ended);
  return state;
}

Status Ledger::record(std::span<const Measurement> round) {
  auto transaction = sqlite::Transaction::begin(impl_->database);
  if (!transaction.ok()) return with_path(transaction.status(), impl_->path);
  auto insert = impl_->database.prepare(kInsertMeasurement);
  if (!insert.ok()) return with_path(insert.status(), impl_->path);
  for (const Measurement& measurement : round) {
    WAVEFILL_RETURN_IF_ERROR(with_path(insert_measurement(*insert, measurement), impl_->path));
  }
  return with_path(transaction->commit(), impl_->path);
}

Status Ledger::record(const Verification& verification) {
  auto insert = impl_->database.prepare(
      "INSERT INTO verifications (run, batch, setting, passed, max_o_error, max_lse_error, message, "
      "at_unix_us) "
      "VALUES (?1,?2,?3,?4,?5,?6,?7,?8)");
  if (!insert.ok()) return with_path(insert.status(), impl_->path);
  insert->bind(1, verification.run)
      .bind(2, std::int64_t{verification.batch})
      .bind(3, verification.setting)
      .bind(4, std::int64_t{verification.passed ? 1 : 0})
      .bind(5, verification.max_o_error)  // SQLite keeps NaN as NULL, which reads as 0
      .bind(6, verification.max_lse_error)
      .bind(7, verification.message)
      .bind(8, verification.at_unix_us);
  return with_path(insert->run(), impl_->path);
}

Status Ledger::record(const ArmEnd& end) {
  auto insert = impl_->database.prepare(
      "INSERT INTO arm_ends (run, phase, batch, setting, replica, reason, samples, at_unix_us) "
      "VALUES (?1,?2,?3,?4,?5,?6,?7,?8)");
  if (!insert.ok()) return with_path(insert.status(), impl_->path);
  insert->bind(1, end.run)
      .bind(2, to_string(end.phase))
      .bind(3, std::int64_t{end.batch})
      .bind(4, end.setting)
      .bind(5, std::int64_t{end.replica})
      .bind(6, to_string(end.reason))
      .bind(7, std::int64_t{end.samples})
      .bind(8, end.at_unix_us);
  return with_path(insert->run(), impl_->path);
}

Status Ledger::finish(const DecisionRecord& decision) {
  // FULL for this one commit: it flushes the log, and with it everything that was recorded before.
  WAVEFILL_RETURN_IF_ERROR(with_path(impl_->database.execute("PRAGMA synchronous = FULL"), impl_->path));
  WAVEFILL_RETURN_IF_ERROR(with_path(insert_decision(impl_->database, decision.run, decision), impl_->path));
  suspend(decision.run);
  return with_path(impl_->database.execute("PRAGMA synchronous = NORMAL"), impl_->path);
}

Result<RunId> Ledger::record_decision(const RunKey& key, const Environment& environment,
                                      const DecisionRecord& decision) {
  WAVEFILL_RETURN_IF_ERROR(with_path(impl_->database.execute("PRAGMA synchronous = FULL"), impl_->path));
  const Result<RunId> id = insert_decided_run(impl_->database, key, environment, decision);
  if (!id.ok()) return with_path(id.status(), impl_->path);
  WAVEFILL_RETURN_IF_ERROR(with_path(impl_->database.execute("PRAGMA synchronous = NORMAL"), impl_->path));
  return *id;
}

void Ledger::suspend(RunId run) {
  if (run == impl_->locked_run) impl_->lock.release();
}

}  // namespace wavefill
