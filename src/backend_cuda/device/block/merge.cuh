// Who merges the partials of a row: what the instances of a split kernel differ in.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

enum class Merge : std::uint8_t {
  combine,  // a kernel of its own
  cluster,  // the row's splits, which are the CTAs of a cluster
  worker,   // whoever has the row's first tiles (worker_merge.cuh)
};

}  // namespace wavefill::cuda
