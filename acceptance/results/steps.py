"""Defines the steps of the result pages: each is one command that writes one document. `make results` runs those
that are missing on a commit.

    demo                  terrace lab demo
    NAME of bench/        its benchmark
    NAME-CLASS            terrace lab experiment NAME --class CLASS, for each of which a template shows a table
    NAME of acceptance/   its program, which resumes criterion by criterion
    picture-NAME          a picture of a page that one of the others made
    readme                the commands that the README shows with what they print

Those of the quick tier (QUICK) make the README's block, in minutes.

A step that is interrupted has no document. What it built, recorded and answered until then is in
out/results/COMMIT/work, and serves its next call; answers of experiments are also put by in the repository.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.answers import bring_back, drop, put_by
from results.kept import FALLS_SHORT, NOT_RUN, Kept, keep, made, read_own, work_of
from results.pictures import DEMO, PICTURES, draw
from results.templates import BLOCK, texts
from results.version import Version

UNFINISHED = 3  # exit status of an experiment and of an acceptance program whose time was up
CLASSES = "SWA"
QUICK = ("demo", "picture-report", "readme")


class Failed(Exception):
    """A step's command ended badly; the text says which and how."""


@dataclass(frozen=True)
class Call:
    """Arguments of a step."""

    root: Path
    folder: Path  # of the documents
    version: Version
    item: str = ""  # only the criteria of an acceptance program whose item contains this
    deadline: float | None = None  # of time.monotonic()

    @property
    def minutes_left(self) -> float | None:
        """Returns the minutes until the time budget ends."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0) / 60

    @property
    def work(self) -> Path:
        """Returns the folder in which steps build and record."""
        return work_of(self.root, self.version) / "work"

    def keep(self, step: Step, begun: float, content: Mapping[str, Any]) -> None:
        """Writes the step's document."""
        seconds = round(time.monotonic() - begun, 1)
        keep(self.folder, self.version, step.name, step.command, {**made(), "seconds": seconds, **content})


@dataclass(frozen=True)
class Step:
    """One command, one document."""

    name: str
    command: str  # as a reader would type it
    run: Callable[[Step, Call], bool]  # whether it is finished
    has_criteria: bool = False  # an acceptance program, whose criteria are finished one by one

    def finished(self, kept: Kept) -> bool:
        """Returns whether its document exists and is complete."""
        document = kept.documents.get(self.name)
        if document is None:
            return False
        return not any(row["verdict"] == NOT_RUN or row.get("failed") for row in document.get("lines", []))

    def state(self, kept: Kept) -> str:
        """Describes the state of a step."""
        document = kept.documents.get(self.name)
        if document is None:
            return NOT_RUN
        if not self.has_criteria:
            return "done"
        verdicts = [row["verdict"] for row in document["lines"]]
        missing, short = verdicts.count(NOT_RUN), verdicts.count(FALLS_SHORT)
        text = f"{len(verdicts) - missing} of {len(verdicts)} criteria measured"
        return f"{text}, below target: {short}" if short else text


def all_steps(root: Path) -> list[Step]:
    """Returns the steps in running order: programs use results of benchmarks and experiments, pictures use all."""
    return [
        Step("demo", "terrace lab demo", _demo),
        *(Step(name, f"build/release/bench/bin/{name}", _benchmark) for name in benchmarks(root)),
        *(
            Step(f"{name}-{size}", f"terrace lab experiment {name} --class {size}", _experiment)
            for name, size in experiments(root)
        ),
        *(Step(name, f"acceptance/{name}", _program, has_criteria=True) for name in programs(root)),
        *(Step(f"picture-{one.name}", one.command, _picture) for one in PICTURES),
        Step("readme", "make results ARGS=--quick", _outputs),
    ]


# --- what there is ----------------------------------------------------------------------------------------------


def benchmarks(root: Path) -> list[str]:
    """Returns the benchmarks' names, from their sources."""
    return sorted(path.stem for path in (root / "bench").glob("*/*_bench.cpp"))


def experiments(root: Path) -> list[tuple[str, str]]:
    """Returns the experiments of which a template shows a table, each with its class."""
    verbs = root / "python" / "terrace" / "verbs" / "lab" / "experiment"
    there = {path.stem.replace("_", "-") for path in verbs.glob("*.py") if path.stem != "__init__"}
    asked = {
        (name, size)
        for text in texts(root).values()
        for name, size in re.findall(rf"\{{\{{ table ([a-z-]+)-([{CLASSES}]) ", text)
    }
    return sorted((one for one in asked if one[0] in there), key=lambda one: (one[0], CLASSES.index(one[1])))


def shown_commands(root: Path) -> list[str]:
    """Returns the commands whose output the README shows, in their order."""
    return re.findall(r"^\{\{ output \d+ (.+) \}\}$", texts(root)[BLOCK], re.MULTILINE)


def programs(root: Path) -> list[str]:
    """Returns the acceptance programs' names."""
    files = sorted((root / "acceptance").iterdir())
    return [path.name for path in files if path.is_file() and os.access(path, os.X_OK)]


# --- how each kind is run ----------------------------------------------------------------------------------------


def _demo(step: Step, call: Call) -> bool:
    begun, folder = time.monotonic(), call.work / DEMO
    _run(call, [_terrace(), "lab", "demo", "--output", folder])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    title = f"Class {results['class']}; moves at the price of the machine's first copier"
    tables = {"demo": {"title": title, "rows": results["rows"]}}
    call.keep(step, begun, {"class": results["class"], "paging": results["paging"], "tables": tables})
    return True


def _benchmark(step: Step, call: Call) -> bool:
    begun, out = time.monotonic(), call.work / "bench" / f"{step.name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    _run(call, [call.root / step.command, f"--benchmark_out={out}", "--benchmark_out_format=json"])
    call.keep(step, begun, {"benchmarks": json.loads(out.read_text(encoding="utf-8"))["benchmarks"]})
    return True


def _experiment(step: Step, call: Call) -> bool:
    """Runs or resumes an experiment, and keeps its tables; unfinished, it keeps the answers so far."""
    begun, folder = time.monotonic(), call.work / "experiments" / step.name
    words: list[str | Path] = [_terrace(), *step.command.split()[1:], "--output", folder]
    if call.minutes_left is not None:
        words += ["--stop-after", str(call.minutes_left)]
    bring_back(call.folder, call.version, step.name, folder)
    if _run(call, words, allowed=(0, UNFINISHED)) == UNFINISHED:
        put_by(call.folder, call.version, step.name, step.command, folder)
        return False
    drop(call.folder, step.name)
    tables = {}
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "table" in document:
            tables[document["table"]] = {"title": document["title"], "rows": document["rows"]}
    call.keep(step, begun, {"tables": tables})
    return True


def _program(step: Step, call: Call) -> bool:
    """Runs or resumes an acceptance program, which keeps its own document."""
    words: list[str | Path] = [call.root / step.command, "--only", call.item]
    if call.minutes_left is not None:
        words += ["--budget", str(call.minutes_left)]
    if call.version.dirty:
        words.append("--allow-dirty")
    status = _run(call, words, allowed=(0, 1, UNFINISHED))
    rows = read_own(call.folder, call.version).documents.get(step.name, {}).get("lines", [])
    missing = [row["item"] for row in rows if call.item in row["item"] and row["verdict"] == NOT_RUN]
    if status != UNFINISHED and (missing or not rows):
        raise Failed(f"{step.command} ended with {status} before all criteria were measured")
    return not missing


def _picture(step: Step, call: Call) -> bool:
    """Draws a picture of a page that an earlier step made."""
    begun = time.monotonic()
    (picture,) = (one for one in PICTURES if step.name == f"picture-{one.name}")
    if not (call.work / picture.page).is_file() and not picture.makes_page:
        print(f"{step.name}: {picture.of} has to be run before it", flush=True)
        return False
    draw(picture, call.root, call.work, lambda words: _run(call, words))
    call.keep(step, begun, {"file": picture.file})
    return True


def _outputs(step: Step, call: Call) -> bool:
    """Runs the README's commands in a folder that has the demo's results in out/demo, as after `make demo`."""
    begun, outputs = time.monotonic(), {}
    call.work.mkdir(parents=True, exist_ok=True)
    path = f"{_terrace().parent}:{os.environ['PATH']}"
    for command in shown_commands(call.root):
        done = subprocess.run(
            command, shell=True, cwd=call.work, env={**os.environ, "PATH": path, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise Failed(f"{command} ended with {done.returncode}: {done.stdout.strip()[-400:]}")
        outputs[command] = done.stdout
    call.keep(step, begun, {"outputs": outputs})
    return True


def _run(call: Call, words: Sequence[str | Path], allowed: Sequence[int] = (0,)) -> int:
    """Its exit status. Raises Failed when that is none of those that are allowed."""
    done = subprocess.run([str(word) for word in words], cwd=call.root, stdin=subprocess.DEVNULL)
    if done.returncode not in allowed:
        raise Failed(f"{' '.join(map(str, words))[:160]} ended with {done.returncode}")
    return done.returncode


def _terrace() -> Path:
    return Path(sys.executable).with_name("terrace")
