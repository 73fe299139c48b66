// The table of commands.
#include <array>

#include "cli/command.h"

namespace wavefill::cli {
namespace {

constexpr std::array<Command, 9> kCommands = {{
    {.name = "devices",
     .summary = "list the devices here, and the known ones that can be planned for",
     .example = "wavefill devices",
     .define = define_devices},
    {.name = "kernels",
     .summary = "list a device's kernels, and which of them can run a shape",
     .example = "wavefill kernels --device cpu --model dsv4-flash --tp 4",
     .define = define_kernels},
    {.name = "plan",
     .summary = "show how batches are split over a device, without running anything",
     .example = "wavefill plan --device rtx-pro-6000 --heads 32 --heads-per-cta 16 --topk 128 "
                "--extra-topk 512 --batch 64,80,96 --policy target-ctas=512",
     .define = define_plan},
    {.name = "verify",
     .summary = "run the case table and compare with a double-precision reference",
     .example = "wavefill verify --device cpu --policy all --filter 'dsv4.*sink'",
     .define = define_verify},
    {.name = "bench",
     .summary = "time decode attention, cache-cold, on a device",
     .example = "wavefill bench --device cpu --model dsv4-flash --tp 4 --batch 1,8,64",
     .define = define_bench},
    {.name = "tune",
     .summary = "measure which split setting serves each batch size best, and write a profile",
     .example = "wavefill tune --device cpu --model dsv4-flash --tp 8 --batch 1-16 --budget 60s "
                "--out profile.json --report report.html",
     .define = define_tune},
    {.name = "decide",
     .summary = "judge measurements taken elsewhere by the rule that tune decides by",
     .example = "wavefill decide --records sweep.csv --deployed target-ctas=512 --workload 48-80",
     .define = define_decide},
    {.name = "profile",
     .summary = "show a profile, check that it would be served here, or compare two",
     .example = "wavefill profile check profile.json --device cpu",
     .define = define_profile},
    {.name = "log",
     .summary = "list tuning runs and decisions from the ledger",
     .example = "wavefill log --run 3",
     .define = define_log},
}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace wavefill::cli
