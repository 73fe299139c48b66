#include "cli/program.h"

int main(int argc, char** argv) { return wavefill::cli::run_program(argc, argv); }
