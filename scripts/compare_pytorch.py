#!/usr/bin/env python3
"""Times wavefill's CPU attention side by side with the same attention in PyTorch.

Both run in one session, in turn (wavefill, each PyTorch variant, wavefill, ...), on the same number of
threads, over pools larger than the caches, with a fresh set of indices every call. PyTorch gets the easier
task: its tokens are already dequantised.

  python3 scripts/compare_pytorch.py build/release/benchmarks/attention/attention_worker

Needs PyTorch; nothing else outside the standard library.
"""

import argparse
import datetime
import platform
import random
import statistics
import subprocess
import sys
import time

import torch

VALUE_DIM = 512
# Share of the best rate seen at which the matrix unit counts as ours alone.
FULL_SPEED = 0.8


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("worker", help="the attention_worker program of a release build")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--heads", type=int, default=64)
    parser.add_argument("--topk", type=int, default=128)
    parser.add_argument("--extra-topk", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pool-tokens", type=int, default=1 << 19, help="of each cache, on both sides")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=8, help="calls of each arm in a round")
    parser.add_argument("--arms", default="", help="only the arms whose name contains this, beside wavefill")
    parser.add_argument("--kernel", default="", help="a kernel of wavefill; default: its first")
    parser.add_argument("--policy", default="efficiency", help="wavefill's split setting")
    return parser.parse_args()


class Wavefill:
    """The attention_worker program, asked over pipes."""

    def __init__(self, arguments):
        command = [
            arguments.worker,
            f"--batch={arguments.batch}",
            f"--heads={arguments.heads}",
            f"--topk={arguments.topk}",
            f"--extra-topk={arguments.extra_topk}",
            f"--threads={arguments.threads}",
            f"--pool-tokens={arguments.pool_tokens}",
            f"--policy={arguments.policy}",
        ]
        if arguments.kernel:
            command.append(f"--kernel={arguments.kernel}")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.description = self.process.stdout.readline().strip()
        if not self.description.startswith("ready"):
            sys.exit(f"{arguments.worker} did not start")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def run(self, calls):
        return [microseconds * 1e-3 for microseconds in self.ask(f"run {calls}")]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Torch:
    """Gather, scores, softmax with sink, values, on tokens dequantised beforehand."""

    def __init__(self, arguments, dtype, attend):
        self.shape = arguments
        self.attend = attend
        self.width = arguments.topk + arguments.extra_topk
        self.q = torch.randn(arguments.batch, arguments.heads, VALUE_DIM).to(dtype)
        self.pool = torch.randn(2 * arguments.pool_tokens, VALUE_DIM, dtype=dtype)
        self.sink = torch.randn(arguments.heads)
        self.index_sets = [
            torch.randint(0, len(self.pool), (arguments.batch * self.width,)) for _ in range(64)
        ]
        self.calls = 0

    def run(self, calls):
        times = []
        for _ in range(calls):
            indices = self.index_sets[self.calls % len(self.index_sets)]
            self.calls += 1
            begin = time.perf_counter()
            keys = torch.index_select(self.pool, 0, indices).view(-1, self.width, VALUE_DIM)
            self.attend(self.q, keys, self.sink)
            times.append((time.perf_counter() - begin) * 1e3)
        return times


def attend_bmm(q, keys, sink):
    batch, heads, _ = q.shape
    scores = torch.bmm(q, keys.transpose(1, 2)).float() * VALUE_DIM**-0.5
    scores = torch.cat([scores, sink.view(1, heads, 1).expand(batch, heads, 1)], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., :-1].to(q.dtype)
    return torch.bmm(weights, keys)


def attend_sdpa(q, keys, sink):
    # Without the sink, which scaled_dot_product_attention does not know: a little less work.
    del sink
    keys = keys.unsqueeze(1)
    return torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(1), keys, keys)


def bootstrap_interval(values, statistic, draws=2000):
    generator = random.Random(1)
    samples = sorted(statistic(generator.choices(values, k=len(values))) for _ in range(draws))
    return samples[int(0.025 * draws)], samples[int(0.975 * draws)]


def cpu_model():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


class Round:
    """The times of every arm in one round, and how fast the matrix unit was around it (0: there is none)."""

    def __init__(self, times, amx_gflops):
        self.times = times
        self.amx_gflops = amx_gflops

    def median(self, arm):
        return statistics.median(self.times[arm])


def measure(arms, rounds, calls):
    """The order within a round changes, so that no arm always follows another."""
    generator = random.Random(0)
    wavefill = arms["wavefill"]
    for arm in arms.values():
        arm.run(calls)
    results = []
    before = wavefill.ask("amx")[0]
    for _ in range(rounds):
        order = list(arms)
        generator.shuffle(order)
        times = {}
        for name in order:
            # Threads of the arm before stop spinning meanwhile.
            time.sleep(0.02)
            times[name] = arms[name].run(calls)
        after = wavefill.ask("amx")[0]
        results.append(Round(times, min(before, after)))
        before = after
    return results


def print_times(title, rounds):
    print(f"\n{title}: {len(rounds)} rounds\n")
    print("| arm | best ms | median ms | times wavefill's (95 % interval) |")
    print("|---|---|---|---|")
    for name in rounds[0].times:
        # Arms of one round saw the same machine: the ratio is taken round by round.
        ratios = [round_.median(name) / round_.median("wavefill") for round_ in rounds]
        low, high = bootstrap_interval(ratios, statistics.median)
        best = min(min(round_.times[name]) for round_ in rounds)
        median = statistics.median(round_.median(name) for round_ in rounds)
        print(
            f"| {name} | {best:.3f} | {median:.3f} | {statistics.median(ratios):.2f} ({low:.2f} .. {high:.2f}) |"
        )


def print_shares(rounds, arguments, peak, kv_bytes):
    width = arguments.topk + arguments.extra_topk
    flops = 2.0 * arguments.batch * arguments.heads * width * 2 * VALUE_DIM
    fp32_gflops, amx_gflops, copy_gbps, read_gbps = peak
    best = min(min(round_.times["wavefill"]) for round_ in rounds) * 1e-3
    median = statistics.median(round_.median("wavefill") for round_ in rounds) * 1e-3
    print("\n| wavefill | per second, best (median) | the cores' own peak, measured | share, best (median) |")
    print("|---|---|---|---|")
    peak_gflops = amx_gflops or fp32_gflops
    if peak_gflops > 0:
        print(
            f"| flops: {flops * 1e-9:.2f} G a call | {flops / best * 1e-9:.0f} ({flops / median * 1e-9:.0f}) GFLOP/s "
            f"| {peak_gflops:.0f} GFLOP/s ({'AMX bf16' if amx_gflops else 'fp32'}; fp32 SIMD {fp32_gflops:.0f}) "
            f"| {flops / best * 1e-7 / peak_gflops:.0f} % ({flops / median * 1e-7 / peak_gflops:.0f} %) |"
        )
    print(
        f"| cache bytes: {kv_bytes * 1e-6:.2f} MB a call | {kv_bytes / best * 1e-9:.1f} "
        f"({kv_bytes / median * 1e-9:.1f}) GB/s | copy {copy_gbps:.1f}, read {read_gbps:.1f} GB/s "
        f"| {kv_bytes / best * 1e-7 / copy_gbps:.0f} % ({kv_bytes / median * 1e-7 / copy_gbps:.0f} %) of copy |"
    )


def print_results(rounds, arguments, peak, kv_bytes):
    print_times("All rounds", rounds)
    # Another guest on the same core slows the matrix unit to less than half: the rounds on either side are two
    # different machines.
    full_speed = FULL_SPEED * max(round_.amx_gflops for round_ in rounds)
    alone = [round_ for round_ in rounds if round_.amx_gflops >= full_speed]
    if 0 < len(alone) < len(rounds):
        print_times("Rounds that began and ended with the matrix unit at full speed", alone)
        shared = [round_ for round_ in rounds if round_.amx_gflops < full_speed]
        print_times("Rounds in which it was slower, being shared with another guest", shared)
    print_shares(rounds, arguments, peak, kv_bytes)


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    wavefill = Wavefill(arguments)
    arms = {"wavefill": wavefill}
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        arms[f"torch {name} bmm"] = Torch(arguments, dtype, attend_bmm)
        arms[f"torch {name} sdpa"] = Torch(arguments, dtype, attend_sdpa)
    arms = {name: arm for name, arm in arms.items() if name == "wavefill" or arguments.arms in name}
    kv_bytes = float(wavefill.description.split("kv_bytes=")[1])
    print(f"{cpu_model()}, {arguments.threads} threads, {datetime.date.today()}, PyTorch {torch.__version__}")
    print(f"wavefill: {wavefill.description.removeprefix('ready ')}")
    print(
        f"batch {arguments.batch}, {arguments.heads} heads, {arguments.topk} + {arguments.extra_topk} tokens, "
        f"{arguments.rounds} rounds of {arguments.calls} calls"
    )
    with torch.inference_mode():
        results = measure(arms, arguments.rounds, arguments.calls)
    print_results(results, arguments, wavefill.ask("peak"), kv_bytes)
    wavefill.close()


if __name__ == "__main__":
    main()
