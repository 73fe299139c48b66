// Parts of the report for a terminal: the reasons beside the figures. Each may be empty.
#pragma once

#include <string>

#include "report/report.h"
#include "report/text_table.h"

namespace wavefill::report {

// A row for each setting and reason that it was turned down for.
std::string rejected_text(const Report& report, const TerminalStyle& style);

// Where throughput falls with the choice and with the deployed setting; of the others how often.
std::string dips_text(const Report& report, const TerminalStyle& style);

}  // namespace wavefill::report
