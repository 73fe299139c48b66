// What every fuzzer asks of the code under test.
#pragma once

#include <cstdio>
#include <cstdlib>

// Says what does not hold and aborts, which libFuzzer takes for a crash.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}
