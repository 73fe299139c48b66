// What a Ledger holds.
#pragma once

#include <string>

#include "ledger/ledger.h"
#include "ledger/run_lock.h"
#include "ledger/sqlite.h"

namespace wavefill {

struct Ledger::Impl {
  std::string path;
  sqlite::Database database;
  RunLock lock;
  RunId locked_run = 0;
};

}  // namespace wavefill
