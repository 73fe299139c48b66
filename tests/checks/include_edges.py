#!/usr/bin/env python3
"""Fails on an #include that points the wrong way through the folders of src/.

usage: include_edges.py ROOT          check the project at ROOT
       include_edges.py --self-test   check that the checker sees each kind of fault
"""
import pathlib
import re
import sys
import tempfile

# Dependency order: a folder may include itself, folders before it, and the public headers.
FOLDERS = [
    "core", "kv", "plan", "backend", "backend_cpu", "backend_cuda", "runtime", "capi",  # the library
    "oracle",                                                                           # tests/oracle
    "measure", "tune", "ledger", "report", "model", "serve", "bench", "deploy", "cli",  # the programs
]
# What belongs to one folder alone.
RESERVED = [
    (re.compile(r"^(cuda|cuda_\w+|cub/.*|nvml)(\.h|\.cuh|$)"), {"backend_cuda", "measure"}),
    (re.compile(r"^sqlite3\.h$"), {"ledger"}),
    (re.compile(r"^CLI/"), {"cli"}),
    (re.compile(r"^hwy/"), {"backend_cpu", "kv"}),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCE_SUFFIXES = {".h", ".cpp", ".c", ".cu", ".cuh", ".inc"}


def folder_of(path: str) -> str | None:
    head = path.split("/", 1)[0]
    return head if "/" in path and head in FOLDERS else None


def faults_in(file: pathlib.Path, name: str, folder: str | None) -> list[str]:
    """folder is None for public headers, which may include only each other and the standard library."""
    faults = []
    for included in INCLUDE.findall(file.read_text(encoding="utf-8")):
        target = folder_of(included)
        if folder is None:
            if "/" in included and not included.startswith("wavefill/"):
                faults.append(f"{name}: a public header includes {included}; allowed: wavefill/*, the standard library")
            continue
        if target is not None and FOLDERS.index(target) > FOLDERS.index(folder):
            faults.append(f"{name}: {folder} includes {included}; allowed: "
                          f"{', '.join(FOLDERS[:FOLDERS.index(folder) + 1])}")
        for pattern, owners in RESERVED:
            if pattern.match(included) and folder not in owners:
                faults.append(f"{name}: {folder} includes {included}; only {', '.join(sorted(owners))} may")
    return faults


def check(root: pathlib.Path) -> list[str]:
    faults = []
    places = [(root / "include" / "wavefill", None), (root / "tests" / "oracle", "oracle")]
    for directory in sorted((root / "src").iterdir()):
        if not directory.is_dir():
            continue
        if directory.name not in FOLDERS:
            faults.append(f"src/{directory.name}: not in the dependency order of {pathlib.Path(__file__).name}")
            continue
        places.append((directory, directory.name))
    for directory, folder in places:
        for file in sorted(directory.rglob("*")) if directory.is_dir() else []:
            if file.suffix in SOURCE_SUFFIXES:
                faults += faults_in(file, str(file.relative_to(root)), folder)
    return faults


def self_test() -> list[str]:
    bad = {
        "src/core/a.cpp": '#include "plan/policies.h"\n',
        "src/plan/b.h": "#include <cuda_runtime.h>\n",
        "src/cli/c.cpp": "#include <sqlite3.h>\n",
        "include/wavefill/d.h": '#include "core/math.h"\n',
        "src/unheard_of/e.cpp": "",
    }
    good = {"src/plan/f.cpp": '#include "core/math.h"\n#include "wavefill/plan.h"\n#include <vector>\n'}
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in (bad | good).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        faults = check(root)
    missed = [f"self-test: the fault in {name} was not seen" for name in bad
              if not any(name.rsplit("/", 1)[0] in fault for fault in faults)]
    return missed + [f"self-test: false alarm: {fault}" for fault in faults if "plan/f.cpp" in fault]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    faults = self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1]))
    print("\n".join(faults) if faults else "include edges: all point the right way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
