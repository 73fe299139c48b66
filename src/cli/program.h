// The program: reads the command line, runs one command, and turns what happened into an exit code.
#pragma once

namespace wavefill::cli {

int run_program(int argc, const char* const* argv);

}  // namespace wavefill::cli
