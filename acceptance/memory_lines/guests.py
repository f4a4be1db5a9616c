"""Memory attributes on several nodes, checked by the kernel's node of each page, in guests under software
emulation."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import ROOT, SETTINGS, TERRACE, Line, Measured, Unavailable, run

BUILD = ROOT / "build" / "release"
PYTHON = ROOT / ".venv" / "bin" / "python"
STRESS_NODES = "192M:cpu=1,256M:cpu=1,96M:near=0,128M:near=1"
COST = 1.10  # of terrace_alloc and a touch, over mmap and a touch
TOUCHED = "4096"  # MiB
TURNS = "9"
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def _guest(folder: str, which: str) -> Measured:
    run(["cmake", "--build", "--preset", "release", "--target", "all", "soak_programs"], timeout=3600)
    command: list[str | Path] = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-k", which]
    done = run(
        [*command, ROOT / "tests" / folder],
        check=False,
        timeout=3600,
        env={**os.environ, "TERRACE_BUILD": str(BUILD), "TERRACE_SOAK": "soak"},
    )
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]])[-1]
    return Measured(last, done.returncode == 0 and "passed" in last and "skipped" not in last)


def four_nodes() -> Measured:
    """Orderings as the kernel's tables say; each intent of either socket, twice; four processes; balancing."""
    return _guest("guest4", "test")


def two_nodes() -> Measured:
    """Programs by `terrace run --intent`, in the guest with two nodes."""
    return _guest("guest", "intent or ordered")


def stress() -> Measured:
    """Runs four processes that allocate, touch, move and free, also by intent, and compares both accounts every
    five seconds."""
    seconds = round(60 * SETTINGS.stress_minutes)
    run(["cmake", "--build", "--preset", "release", "--target", "stress"], timeout=3600)
    words: list[str | Path] = [PYTHON, ROOT / "tests" / "guest_bed" / "vm.py", "--nodes", STRESS_NODES]
    words += ["--timeout", str(seconds + 300), "--", BUILD / "tests" / "guest4" / "stress", str(seconds)]
    done = run(words, check=False, timeout=seconds + 600)
    lines = done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]]
    said = "; ".join(line for line in lines if re.search("objects|by intent|differences", line)) or lines[-1]
    holds = done.returncode == 0 and lines[-1] == "0 differences" and SETTINGS.stress_minutes >= 30
    return Measured(f"{SETTINGS.stress_minutes:g} minutes: {said}", holds)


@contextlib.contextmanager
def _huge_pages_for_all() -> Iterator[None]:
    """Enables huge pages for all memory: terrace_alloc populates pages before a program can request huge ones."""
    before = HUGE_PAGES.read_text().split("[")[1].split("]")[0]
    try:
        HUGE_PAGES.write_text("always")
    except OSError as error:
        raise Unavailable(f"huge pages for all need root: {error}") from error
    try:
        yield
    finally:
        HUGE_PAGES.write_text(before)


def cost() -> Measured:
    """Compares terrace_alloc and a touch of each page with mmap and the same touches, on pages of one size. No
    data spill."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "touch"
        library = BUILD / "src" / "agent"
        source = ROOT / "bench" / "memory" / "ordered_touch.c"
        paths: list[str | Path] = ["-I", ROOT / "include", "-L", library, f"-Wl,-rpath,{library}"]
        run(["cc", "-O2", "-o", program, source, *paths, "-lterrace"])
        said, worst = [], 0.0
        for pages in ("small", "huge"):
            with _huge_pages_for_all() if pages == "huge" else contextlib.nullcontext():
                words: list[str | Path] = [TERRACE, "run", "-q", "-o", Path(name) / "run.terrace", "--", program]
                done = run([*words, "alloc", TOUCHED, TURNS, pages], check=False)
            found = re.search(r"ratio of medians ([0-9.]+)", done.stdout)
            if not found:
                raise RuntimeError(f"{pages} pages: {done.stdout[-200:]}{done.stderr[-200:]}")
            worst = max(worst, float(found[1]))
            said.append(f"{pages} pages {float(found[1]):.2f}")
    return Measured(", ".join(said) + " times mmap and a touch", worst <= COST)


LINES = [
    Line(
        "four nodes",
        "orderings as the firmware's tables say; the kernel's account of each page of a spill equals the "
        "expectation for every intent of every initiator, at once and at touch; four processes pass no mark by "
        "more than a batch; what was placed stays with NUMA balancing on",
        four_nodes,
    ),
    Line("two nodes", "whole programs by intent, page by page", two_nodes),
    Line(
        "stress",
        "30 minutes of four processes, also by intent: the kernel's and our account equal, nothing killed",
        stress,
    ),
    Line(
        "cost",
        "terrace_alloc and a touch of 4 GiB: at most 10 % over mmap and a touch, small pages and huge",
        cost,
    ),
]
