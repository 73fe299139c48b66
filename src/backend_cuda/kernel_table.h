// The kernel table of one device: a row a kernel instance, read by listing, planning, tuning and tests.
#pragma once

#include <array>
#include <vector>

#include "backend_cuda/kernels/kernels.h"
#include "wavefill/device.h"
#include "wavefill/plan.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cuda {

// Every instance in the program, the preferred of those that suit a shape first.
std::vector<SplitKernel> all_split_kernels();

struct TableRow {
  SplitKernel kernel;
  KernelSpec spec;
  // Fewer would pad more than they use, and a row with a smaller head tile takes them; the smallest head tile
  // that the device has for a format takes any number.
  std::int32_t least_heads = 1;
  // [splits of a row]: how many clusters of so many CTAs the device holds at once; 0: rows are not merged so.
  std::array<std::int32_t, kMaxClusterSplits + 1> active_clusters = {};
};

// The rows that the current device can run: those whose shared memory it does not have are left out.
// Errors: unsupported (the program has no machine code for this device).
Result<std::vector<TableRow>> make_kernel_table(const DeviceSpec& device);

// Whether the CTAs of a row are to be a cluster that merges its splits: where the whole grid fits in at once.
// (In a second wave clusters wait for each other's last CTA, and fewer SMs than all are in use.)
bool merges_in_cluster(const TableRow& row, const PlanParams& plan);

// Whether workers are to merge the rows of `plan` that they share: where no row has many pieces, which they
// add one after the other, and bits may depend on the batch. `placed`: the plan as kernels read it.
bool merges_in_workers(const TableRow& row, const SplitPlan& plan, const PlanParams& placed);

// ok, or unsupported: names the parameter, its value and what the kernel takes.
Status supports_shape(const TableRow& row, const DecodeShape& shape);

}  // namespace wavefill::cuda
