#!/usr/bin/env python3
"""Compares what ptxas says of every kernel for one target (registers, stack, spills) with a golden file.

ptxas needs no GPU. With --update the golden file is written instead. Dynamic shared memory is no part of
ptxas' report; host_test.cpp holds it.

Another release of the compiler allocates other registers: the golden names the one that it is of, and for any
other only spills fail; exit code 77 says that nothing more was compared.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

FORMATS = {"0": "dsv4", "1": "dsv32", "2": "bf16"}
CONFIG = re.compile(
    r"SplitConfigILN\w*?KvFormatE(\d)ELi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)ELb([01])ELi(\d+)ELi\d+ELb([01])E")

WGMMA_CONFIG = re.compile(r"WgmmaConfigILN\w*?KvFormatE(\d)ELi(\d+)ELi(\d+)ELNS\w*?MergeE([012])E")
HEAD_SHARE = re.compile(r"HeadShareILi(\d+)ELi(\d+)E")
MERGES = {"0": "", "1": " clusters", "2": " neighbours"}


def kernel_name(mangled):
    match = CONFIG.search(mangled)
    if match:
        kv_format, d_qk, heads, tile, stages, ctas, q_in_regs, groups, merge = match.groups()
        return (f"split_mma {FORMATS[kv_format]} d_qk={d_qk} heads={heads} tile={tile} stages={stages} "
                f"ctas={ctas} q_in_regs={q_in_regs} warps_a_slice={groups}{MERGES[merge]}")
    match = WGMMA_CONFIG.search(mangled)
    if match:
        kv_format, d_qk, part_chunks, merge = match.groups()
        return f"split_wgmma {FORMATS[kv_format]} d_qk={d_qk} part_chunks={part_chunks}{MERGES[merge]}"
    match = HEAD_SHARE.search(mangled)
    if match:
        warps, partials = match.groups()
        return f"combine warps_of_head={warps} at_once={partials}"
    return re.search(r"\d([a-z_]+_kernel)", mangled).group(1)


NOT_COMPARED = 77


def release(nvcc):
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", version).group(1)


def resources(nvcc, root, arch, source):
    with tempfile.TemporaryDirectory() as out:
        command = [nvcc, "-std=c++20", "-O3", f"-I{root}/src", f"-I{root}/include", "-gencode",
                   f"arch=compute_{arch},code=sm_{arch}", "-Xptxas", "-v", "-cubin", "-o", f"{out}/x.cubin", str(source)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{source}: {result.stderr}")
    found = re.findall(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers", result.stderr, re.S)
    return [f"{kernel_name(name)}: registers {registers}, stack {stack}, spill stores {stores}, spill loads {loads}"
            for name, stack, stores, loads, registers in found]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--nvcc", "--root", "--golden"):
        parser.add_argument(name, required=True)
    parser.add_argument("--arch", required=True, help="120, 90a, ...")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    kernels = pathlib.Path(args.root, "src/backend_cuda/kernels")
    # The Hopper family is empty for other targets; the portable one is held by the first of them.
    sources = [source for source in sorted(kernels.glob("*.cu"))
               if source.name.startswith("split_wgmma") == (args.arch == "90a")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = sorted(sum(pool.map(lambda s: resources(args.nvcc, args.root, args.arch, s), sources), []))
    spilling = [line for line in lines if not line.endswith("stack 0, spill stores 0, spill loads 0")]
    text = f"nvcc {release(args.nvcc)}\n" + "\n".join(lines) + "\n"
    golden = pathlib.Path(args.golden)
    if args.update:
        golden.write_text(text)
    print(text, end="")
    if spilling:
        sys.exit("these use local memory:\n" + "\n".join(spilling))
    expected = golden.read_text()
    if expected.splitlines()[0] != text.splitlines()[0]:
        print(f"not compared: {golden} is of {expected.splitlines()[0]}")
        sys.exit(NOT_COMPARED)
    if expected != text:
        sys.exit(f"differs from {golden}; if it should, write it anew with --update")


if __name__ == "__main__":
    main()
