#include "ledger/schema.h"

#include <chrono>
#include <thread>

#include "core/errors.h"

namespace wavefill {
namespace {

constexpr std::int64_t kApplicationId = 0x57464C47;  // "WFLG"

// Rows are only ever added: triggers refuse to change or remove what was measured, checked or decided.
constexpr const char* kCreate = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  device TEXT NOT NULL, num_sms INTEGER NOT NULL, kernel TEXT NOT NULL, heads_per_cta INTEGER NOT NULL,
  kv_tile INTEGER NOT NULL, ctas_per_sm INTEGER NOT NULL, kv_format TEXT NOT NULL, d_qk INTEGER NOT NULL,
  num_heads INTEGER NOT NULL, s_q INTEGER NOT NULL, topk INTEGER NOT NULL, extra_topk INTEGER NOT NULL,
  library_version TEXT NOT NULL, deployed TEXT NOT NULL, batches TEXT NOT NULL, timing TEXT NOT NULL,
  seed INTEGER NOT NULL,
  started_unix_us INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_key ON runs (key);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (id),
  pid INTEGER NOT NULL,
  started_unix_us INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_run ON sessions (run);

CREATE TABLE environments (
  session INTEGER NOT NULL REFERENCES sessions (id),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurements (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (id),
  phase TEXT NOT NULL, batch INTEGER NOT NULL, setting TEXT NOT NULL, replica INTEGER NOT NULL,
  round INTEGER NOT NULL, position INTEGER NOT NULL, calls INTEGER NOT NULL, us REAL NOT NULL,
  contaminated INTEGER NOT NULL, reason TEXT NOT NULL, at_unix_us INTEGER NOT NULL,
  UNIQUE (run, phase, batch, setting, replica, round)
) STRICT;

CREATE TABLE verifications (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (id),
  batch INTEGER NOT NULL, setting TEXT NOT NULL, passed INTEGER NOT NULL,
  max_o_error REAL, max_lse_error REAL, message TEXT NOT NULL, at_unix_us INTEGER NOT NULL
) STRICT;
CREATE INDEX verifications_by_run ON verifications (run);

CREATE TABLE arm_ends (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (id),
  phase TEXT NOT NULL, batch INTEGER NOT NULL, setting TEXT NOT NULL, replica INTEGER NOT NULL,
  reason TEXT NOT NULL, samples INTEGER NOT NULL, at_unix_us INTEGER NOT NULL
) STRICT;
CREATE INDEX arm_ends_by_run ON arm_ends (run);

CREATE TABLE decisions (
  run INTEGER PRIMARY KEY REFERENCES runs (id),
  deployed TEXT NOT NULL, decision TEXT NOT NULL, summary TEXT NOT NULL, json TEXT NOT NULL,
  at_unix_us INTEGER NOT NULL
) STRICT;

CREATE TRIGGER runs_keep BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER sessions_keep BEFORE UPDATE ON sessions
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER sessions_stay BEFORE DELETE ON sessions
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER environments_keep BEFORE UPDATE ON environments
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER environments_stay BEFORE DELETE ON environments
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER measurements_keep BEFORE UPDATE ON measurements
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER measurements_stay BEFORE DELETE ON measurements
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER verifications_keep BEFORE UPDATE ON verifications
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER verifications_stay BEFORE DELETE ON verifications
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER arm_ends_keep BEFORE UPDATE ON arm_ends
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER arm_ends_stay BEFORE DELETE ON arm_ends
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER decisions_keep BEFORE UPDATE ON decisions
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER decisions_stay BEFORE DELETE ON decisions
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

PRAGMA application_id = 1464224839;
PRAGMA user_version = 1;
)sql";

Result<bool> is_empty(const sqlite::Database& database) {
  const auto tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  const auto application = database.integer("PRAGMA application_id");
  if (!application.ok()) return application.status();
  return *tables == 0 && *application == 0;
}

// Two processes may find the same empty file: who comes second finds the tables made.
Status create(const sqlite::Database& database) {
  auto transaction = sqlite::Transaction::begin(database);
  if (!transaction.ok()) return transaction.status();
  const auto empty = is_empty(database);
  if (!empty.ok()) return empty.status();
  if (*empty) WAVEFILL_RETURN_IF_ERROR(database.execute(kCreate));
  return transaction->commit();
}

Status check_identity(const sqlite::Database& database, const std::string& path) {
  const auto application = database.integer("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return make_status(StatusCode::corrupt_data,
                       "{} is another program's SQLite file (application_id {}); a ledger has {}", path,
                       *application, kApplicationId);
  }
  const auto version = database.integer("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version != kSchemaVersion) {
    return make_status(StatusCode::mismatch, "{} has ledger schema {}; this build knows {}", path, *version,
                       kSchemaVersion);
  }
  return {};
}

Status check_soundness(const sqlite::Database& database, const std::string& path) {
  const auto verdict = database.text("PRAGMA quick_check(1)");
  if (!verdict.ok()) return verdict.status();
  if (*verdict == "ok") return {};
  return make_status(StatusCode::corrupt_data, "{} is damaged: {}", path, *verdict);
}

// Changing the mode takes the file for oneself, and of two processes that open the same new file SQLite turns
// one away at once instead of letting it wait. The other is done in milliseconds.
Result<std::string> write_ahead_mode(const sqlite::Database& database) {
  constexpr int kTries = 50;
  constexpr std::chrono::milliseconds kPause{20};
  for (int attempt = 1;; ++attempt) {
    auto mode = database.text("PRAGMA journal_mode = WAL");
    if (mode.ok() || mode.status().code() != StatusCode::unavailable || attempt == kTries) return mode;
    std::this_thread::sleep_for(kPause);
  }
}

Status set_durability(const sqlite::Database& database, const std::string& path) {
  const auto mode = write_ahead_mode(database);
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") {
    return make_status(StatusCode::unavailable, "{} cannot have a write-ahead log (journal mode {})", path,
                       *mode);
  }
  return database.execute(
      "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
}

}  // namespace

Status prepare_schema(const sqlite::Database& database, const std::string& path) {
  const auto empty = is_empty(database);
  if (!empty.ok()) return empty.status();
  if (!*empty) {
    WAVEFILL_RETURN_IF_ERROR(check_identity(database, path));
    WAVEFILL_RETURN_IF_ERROR(check_soundness(database, path));
    return set_durability(database, path);
  }
  WAVEFILL_RETURN_IF_ERROR(set_durability(database, path));
  WAVEFILL_RETURN_IF_ERROR(create(database));
  return check_identity(database, path);
}

}  // namespace wavefill
