// What the machine did in a phase, in words.
#pragma once

#include <string>

#include "tune/phase_watch.h"

namespace wavefill::report {

// "none of 120 rounds", "3 of 123 rounds, left out of every figure; the last because ...".
std::string disturbed_text(const PhaseWatch& watch);

// "120 rounds used, 3 others disturbed; clock 1755 to 1980 MHz".
std::string watch_text(const PhaseWatch& watch);

// "1755 to 1980 MHz"; "not said" where the device did not tell.
std::string clock_text(const PhaseWatch& watch);

}  // namespace wavefill::report
