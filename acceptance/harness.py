"""What every acceptance program is made of: lines with a goal, a measurement and a verdict.

A line's function returns Measured(text, holds). It may raise Unavailable when this machine cannot run it at
all; the line then counts as fallen short, with the reason. The table goes to standard output as lines finish,
the whole to out/acceptance/NAME.json, and the exit status is 1 unless every line holds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TERRACE = ROOT / ".venv" / "bin" / "terrace"
SETTINGS = argparse.Namespace()  # what the command line said; main() fills it before the first line is measured


class Unavailable(Exception):
    """This machine cannot run the line; the text says why."""


@dataclass(frozen=True)
class Measured:
    text: str
    holds: bool


@dataclass(frozen=True)
class Line:
    item: str
    goal: str
    measure: Callable[[], Measured]


def workloads() -> tuple[str, ...]:
    """The names of all shipped workloads: each is a folder with a program of its name."""
    return tuple(sorted(p.stem for p in (ROOT / "workloads").glob("*/*.cpp") if p.stem == p.parent.name))


def every_workload(sizes: Mapping[str, str]) -> dict[str, str]:
    """The sizes, by workload; raises where one has none: then a line would not be about every workload."""
    if without := sorted(set(workloads()) - set(sizes)):
        raise RuntimeError(f"no size is given for {', '.join(without)}: the line is about every workload")
    return dict(sizes)


def run(
    command: Sequence[str | Path], *, check: bool = True, timeout: float = 1800, **options: object
) -> subprocess.CompletedProcess[str]:
    """Runs a command with captured text; a failure shows its last lines."""
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in command],
        text=True,
        capture_output=True,
        timeout=timeout,
        cwd=options.pop("cwd", ROOT),
        **options,
    )
    if check and done.returncode != 0:
        tail = (done.stdout + done.stderr).strip().splitlines()[-6:]
        raise RuntimeError(
            f"{' '.join(map(str, command))[:200]} ended with {done.returncode}: " + " | ".join(tail)
        )
    return done


def main(
    name: str, lines: Sequence[Line], options: Callable[[argparse.ArgumentParser], None] = lambda parser: None
) -> int:
    """Runs the lines (all, or those whose item contains --only) and reports; `options` adds some of its own."""
    parser = argparse.ArgumentParser(description=f"acceptance of {name}: item, goal, measured, verdict")
    options(parser)
    parser.add_argument("--only", default="", help="run only the lines whose item contains this")
    parser.add_argument("--list", action="store_true", help="list the lines and end")
    arguments = parser.parse_args(namespace=SETTINGS)
    chosen = [line for line in lines if arguments.only in line.item]
    if arguments.list:
        for line in chosen:
            print(f"{line.item}: {line.goal}")
        return 0
    rows = []
    for line in chosen:
        begun = time.monotonic()
        try:
            measured = line.measure()
        except Unavailable as reason:
            measured = Measured(f"could not be run here: {reason}", False)
        except Exception as error:  # a broken line must not hide the others
            traceback.print_exc()
            measured = Measured(f"failed: {error}", False)
        seconds = time.monotonic() - begun
        rows.append(
            {
                "item": line.item,
                "goal": line.goal,
                "measured": measured.text,
                "verdict": "holds" if measured.holds else "falls short",
                "seconds": round(seconds, 1),
            }
        )
        print(f"{'holds      ' if measured.holds else 'FALLS SHORT'}  {line.item}")
        print(f"             goal      {line.goal}")
        for number, text in enumerate(measured.text.splitlines() or [""]):
            print(f"             {'measured ' if number == 0 else '         '} {text}")
        sys.stdout.flush()
    held = sum(row["verdict"] == "holds" for row in rows)
    folder = ROOT / "out" / "acceptance"
    folder.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, capture_output=True).stdout.strip()
    result = {
        "schema": 1,
        "name": name,
        "commit": commit,
        "date": time.strftime("%Y-%m-%d"),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "complete": len(chosen) == len(lines),
        "lines": rows,
    }
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{held} of {len(rows)} lines hold; out/acceptance/{name}.json")
    return 0 if held == len(rows) else 1
