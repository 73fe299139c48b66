// From a report's numbers to what its figures draw.
#pragma once

#include <string>
#include <vector>

#include "report/figures.h"
#include "report/report.h"

namespace wavefill::report {

// How the choice is called in figures and headings: its setting, or "per-batch table".
std::string choice_label(const Report& report);

// Why, without saying again what: "none of 13 other settings is admissible and faster".
std::string reason_text(const Report& report);

ThroughputFigure throughput_figure(const Report& report);
std::vector<EffectPoint> effect_points(const Report& report);
HeatMap heat_map(const Report& report);

}  // namespace wavefill::report
