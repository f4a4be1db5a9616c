"""Compares output and time of unmodified CUDA programs, plain and under `terrace run`, interleaved.

On a machine with a GPU, nvcc's ``copies`` next to this file (``nvcc -O2 -o copies copies.cu``) and PyTorch:

    python3 run.py measure TERRACE ROWS.json     TERRACE: the launcher; LD_LIBRARY_PATH for what it needs
    python3 run.py page ROWS.json                the table, from what was measured
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MACHINE = HERE.parent.parent / "acceptance" / "programs_lines" / "same_node.toml"
TURNS, FILE_TURNS = 5, 2
PROGRAMS = {
    "copies": [str(HERE / "copies"), "256", "12"],
    "training": [sys.executable, str(HERE / "train.py"), "30000", "4"],
}
Row = dict[str, Any]


def ways(terrace: str, folder: Path) -> dict[str, list[str]]:
    """Returns the words before a program's, by the way it is run."""
    kept = ["-o", str(folder / "kept.terrace"), "--"]
    spill = folder / "spill"
    spill.mkdir()
    over_file = {
        f"{size} and a file": [terrace, "run", "--memory", size, "--spill", str(spill), "--"]
        for size in ("700MiB", "1200MiB")
    }
    return {
        "plain": [],
        "run": [terrace, "run", "--"],
        "run --profile": [terrace, "run", "--profile", *kept],
        "placed on one node called two": [terrace, "run", "--machine", str(MACHINE), "--fast", "64MiB", *kept],
        **over_file,
    }


def measure(terrace: str, output: Path) -> None:
    """Runs all repetitions; writes rows as they arrive."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="terrace-gpu-") as name:
        folder = Path(name)
        prefixes = ways(terrace, folder)
        for program, words in PROGRAMS.items():
            subprocess.run(words, cwd=folder, capture_output=True, check=True)  # reads from the disk
            for turn in range(TURNS):
                for way in prefixes if turn % 2 == 0 else reversed(prefixes):
                    if "file" in way and turn >= FILE_TURNS:
                        continue
                    begun = time.monotonic()
                    done = subprocess.run([*prefixes[way], *words], cwd=folder, capture_output=True, text=True)
                    seconds = time.monotonic() - begun
                    row = {"program": program, "way": way, "seconds": round(seconds, 3), "rc": done.returncode}
                    said = [line for line in done.stderr.splitlines() if line.startswith("terrace: ")]
                    rows.append({**row, "out": done.stdout, "said": said})
                    output.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def page(rows: list[Row]) -> str:
    """Returns the table of a result page, in Markdown."""
    lines = ["| program | way | runs | as plain | median, s | of plain |", "| --- | --- | --- | --- | --- | --- |"]
    for program in dict.fromkeys(row["program"] for row in rows):
        mine = [row for row in rows if row["program"] == program]
        truth = mine[0]
        usual = statistics.median(row["seconds"] for row in mine if row["way"] == truth["way"])
        for way in dict.fromkeys(row["way"] for row in mine):
            some = [row for row in mine if row["way"] == way]
            same = sum(row["out"] == truth["out"] and row["rc"] == truth["rc"] for row in some)
            middle = statistics.median(row["seconds"] for row in some)
            share = f"{middle / usual - 1:+.0%}" if way != truth["way"] else ""
            lines.append(f"| {program} | {way} | {len(some)} | {same} | {middle:.2f} | {share} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "measure":
        measure(str(Path(sys.argv[2]).resolve()), Path(sys.argv[3]))
    elif len(sys.argv) == 3 and sys.argv[1] == "page":
        print(page(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
    else:
        sys.exit(__doc__)
