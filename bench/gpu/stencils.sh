#!/usr/bin/env bash
# Measures stencil programs on a GPU with data of 0.5, 3 and 10 times the permitted GPU memory ($MEMORY, default
# 8GiB), for docs/reference/stencils.md:
#
#     bash bench/gpu/stencils.sh BUILD RESULT.json
#
# BUILD is a build folder that CMake has configured with nvcc installed. The script builds the programs, runs their
# tests, and measures each size three times. RESULT.json gets what terrace-stencils-gpu prints, with date, commit,
# device and driver. Ten times $MEMORY has to be free in the host's memory. Exit status: 77 where there is no GPU.
set -euo pipefail

if (($# != 2)); then
  echo "usage: stencils.sh BUILD RESULT.json" >&2
  exit 2
fi
readonly build=$1 result=$2 memory=${MEMORY:-8GiB}
if ! device=$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader --id=0 2>/dev/null); then
  echo "stencils.sh: nvidia-smi finds no GPU here, so nothing is measured: run it on a machine with one" >&2
  exit 77
fi

cmake --build "$build" --target terrace-stencils terrace-stencils-gpu stencil_device_test
"$build/tests/integration/stencil_device_test"

DEVICE=$device MEMORY=$memory python3 - "$build/workloads/stencils/terrace-stencils-gpu" "$result" <<'PYTHON'
import datetime
import json
import math
import os
import subprocess
import sys

program, result = sys.argv[1:]
units = {"MiB": 2**20, "GiB": 2**30}
memory = os.environ["MEMORY"]
budget = float(memory[:-3]) * units[memory[-3:]]
name, total, driver = os.environ["DEVICE"].split(", ")


def program_arguments(which: str, ratio: float) -> list[str]:
    """Returns a program and its arguments, so that its datasets are `ratio` times the budget."""
    if which == "heat":  # two numbers a point
        cells = math.isqrt(int(ratio * budget / 16))
        return ["heat", f"cells={cells}", "steps=200", "chain=50"]
    cells = math.isqrt(int(ratio * budget / 200))  # 25 numbers a point
    return ["cloverleaf2d", "problem=tp2", f"cells={cells}x{cells}", "steps=10", "summary=0"]


commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
rows = []
for which in ("heat", "cloverleaf2d"):
    for ratio in (0.5, 3, 10):
        for repetition in range(3):
            call = [program, *program_arguments(which, ratio)]
            environment = os.environ | {"TERRACE_STENCIL": f"executor=gpu,memory={memory}"}
            done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
            row = {"program": which, "times_the_memory": ratio, "repetition": repetition, "arguments": call[1:]}
            row["status"] = done.returncode
            row |= {"run": json.loads(done.stdout)} if done.stdout else {"error": done.stderr.strip()}
            rows.append(row)
            outcome = done.stderr.strip() or f"{row['run']['bandwidth'] / 1e9:.1f} GB/s"
            print(which, ratio, repetition, outcome, flush=True)
            about = {
                "schema": 1,
                "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                "commit": commit,
                "device": name,
                "device_memory": total,
                "driver": driver,
                "memory": memory,
                "rows": rows,
            }
            with open(result, "w", encoding="utf-8") as out:  # rows are written as they come
                json.dump(about, out, indent=1)
PYTHON
