// The sections of the page, each as HTML.
#pragma once

#include <string>

#include "report/report.h"

namespace wavefill::report {

std::string verdict_section(const Report& report);  // the decision and its key figures
std::string figures_section(const Report& report);
std::string verdict_table(const Report& report);  // a row a batch
std::string kernels_table(const Report& report);  // empty where there was no choice
std::string regrets_section(const Report& report);
std::string rejected_section(const Report& report);
std::string model_section(
    const Report& report);  // the fitted cost model, and what it alone would have shipped
std::string trust_section(const Report& report);  // noise, contamination, cache state
std::string samples_section(const Report& report);
std::string environment_section(const Report& report);

}  // namespace wavefill::report
