#include "ledger/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "core/errors.h"

namespace wavefill::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr std::string_view kDuplicate = "duplicate: ";

StatusCode code_of(int error) {
  switch (error & 0xff) {  // the primary code
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return StatusCode::corrupt_data;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return StatusCode::unavailable;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG: return StatusCode::invalid_argument;
    case SQLITE_NOMEM: return StatusCode::resource_exhausted;
    default: return StatusCode::internal;
  }
}

Status status_of(sqlite3* database, int error) {
  const bool duplicate = error == SQLITE_CONSTRAINT_UNIQUE || error == SQLITE_CONSTRAINT_PRIMARYKEY;
  return make_status(code_of(error), "{}{} (SQLite error {})", duplicate ? kDuplicate : "",
                     database == nullptr ? sqlite3_errstr(error) : sqlite3_errmsg(database), error);
}

}  // namespace

Statement::Statement(sqlite3* database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int parameter, std::int64_t value) {
  if (bind_error_ == SQLITE_OK) bind_error_ = sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  if (bind_error_ == SQLITE_OK) bind_error_ = sqlite3_bind_double(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  if (bind_error_ == SQLITE_OK) {
    bind_error_ = sqlite3_bind_text64(statement_.get(), parameter, text.data() == nullptr ? "" : text.data(),
                                      text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return *this;
}

Result<bool> Statement::step() {
  if (bind_error_ != SQLITE_OK) return status_of(database_, bind_error_);
  const int outcome = sqlite3_step(statement_.get());
  if (outcome == SQLITE_ROW) return true;
  if (outcome == SQLITE_DONE) return false;
  const Status status = status_of(database_, outcome);
  sqlite3_reset(statement_.get());
  return status;
}

Status Statement::run() {
  const auto row = step();
  sqlite3_reset(statement_.get());
  return row.status();
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path, bool create) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | (create ? SQLITE_OPEN_CREATE : 0);
  // SQLite gives names that begin with a colon a meaning of their own; here they are files.
  const std::string file = path.starts_with(':') ? "./" + path : path;
  const int error = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (error != SQLITE_OK) return status_of(handle, error);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int error =
      sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (error != SQLITE_OK) return status_of(database_.get(), error);
  return Statement(database_.get(), statement);
}

Status Database::execute(const char* sql) const {
  const int error = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return error == SQLITE_OK ? Status{} : status_of(database_.get(), error);
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const auto row = statement->step();
  if (!row.ok()) return row.status();
  return *row ? statement->integer(0) : 0;
}

Result<std::string> Database::text(std::string_view sql) const {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const auto row = statement->step();
  if (!row.ok()) return row.status();
  return *row ? statement->text(0) : std::string();
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(database_.get()); }

Result<Transaction> Transaction::begin(const Database& database) {
  WAVEFILL_RETURN_IF_ERROR(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // A failed rollback has nobody to tell, and closing the database rolls back all the same.
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  WAVEFILL_RETURN_IF_ERROR(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

bool is_duplicate(const Status& status) { return status.message().starts_with(kDuplicate); }

}  // namespace wavefill::sqlite
