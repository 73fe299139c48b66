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
    parser.add_argument("--policy", default="balanced", help="wavefill's split setting")
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


def measure(arms, rounds, calls):
    """Per arm, one list of times a round. The order within a round changes, so that no arm always follows another."""
    results = {name: [] for name in arms}
    generator = random.Random(0)
    for arm in arms.values():
        arm.run(calls)
    for _ in range(rounds):
        order = list(arms)
        generator.shuffle(order)
        for name in order:
            # Threads of the arm before stop spinning meanwhile.
            time.sleep(0.02)
            results[name].append(arms[name].run(calls))
    return results


def print_table(results, arguments, peak, kv_bytes):
    rows = arguments.batch
    width = arguments.topk + arguments.extra_topk
    flops = 2.0 * rows * arguments.heads * width * 2 * VALUE_DIM
    ours = [statistics.median(times) for times in results["wavefill"]]
    print("\n| arm | best ms | median ms | times wavefill's (95 % interval) |")
    print("|---|---|---|---|")
    for name, rounds in results.items():
        medians = [statistics.median(times) for times in rounds]
        # Arms of one round saw the same machine: the ratio is taken round by round.
        ratios = [other / own for other, own in zip(medians, ours)]
        low, high = bootstrap_interval(ratios, statistics.median)
        best = min(min(times) for times in rounds)
        print(
            f"| {name} | {best:.3f} | {statistics.median(medians):.3f} "
            f"| {statistics.median(ratios):.2f} ({low:.2f} .. {high:.2f}) |"
        )
    fp32_gflops, amx_gflops, copy_gbps, read_gbps = peak
    best = min(min(times) for times in results["wavefill"]) * 1e-3
    median = statistics.median(ours) * 1e-3
    print("\n| | per second, best (median) | the cores' own peak, measured | share, best (median) |")
    print("|---|---|---|---|")
    peak_gflops = amx_gflops or fp32_gflops
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
    print_table(results, arguments, wavefill.ask("peak"), kv_bytes)
    wavefill.close()


if __name__ == "__main__":
    main()
