// How commands print what a verdict rests on.
#pragma once

#include <string>

#include "report/text_table.h"
#include "tune/verdict.h"

namespace wavefill::cli {

std::string percent_text(double effect);  // +2.5%
std::string range_text(const Interval& interval);
report::Tone tone_of(Verdict verdict);

}  // namespace wavefill::cli
