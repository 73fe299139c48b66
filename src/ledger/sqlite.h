// The little of SQLite that the ledger needs, with Status for errors and no way to build SQL from values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wavefill/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace wavefill::sqlite {

// One prepared statement. Parameters are numbered from 1, columns from 0.
class Statement {
 public:
  Statement(sqlite3* database, sqlite3_stmt* statement);

  // Errors of binding show at the next step().
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);

  // true: a row can be read. false: done. The first step() after reset() or rebinding starts anew.
  Result<bool> step();

  // A statement that gives no rows, run and made ready for other values.
  Status run();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = 0;
};

class Database {
 public:
  // Errors: unavailable, corrupt_data (where SQLite sees it at once).
  static Result<Database> open(const std::string& path, bool create);

  // `sql` is one statement, from the source code. Errors: those of SQLite.
  Result<Statement> prepare(std::string_view sql) const;

  // Several statements without parameters or rows.
  Status execute(const char* sql) const;

  // The single integer that `sql` gives.
  Result<std::int64_t> integer(std::string_view sql) const;
  Result<std::string> text(std::string_view sql) const;

  std::int64_t last_insert_id() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

// Rolled back unless committed. Takes the write lock at once: a transaction that starts by reading could
// find the lock gone when it wants to write.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;  // nullptr: nothing to roll back
};

// Whether a status says that a unique constraint was violated.
bool is_duplicate(const Status& status);

}  // namespace wavefill::sqlite
