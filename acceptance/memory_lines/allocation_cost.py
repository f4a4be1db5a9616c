"""Measures the cost of an allocation by intent next to mmap's. A criterion of acceptance/memory."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable, run

BUILD = ROOT / "build" / "release"
COST = 1.10  # of terrace_alloc and a touch, over mmap and a touch
TOUCHED = "4096"  # MiB
TURNS = "9"
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


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


CRITERIA = [
    Criterion(
        "cost",
        "terrace_alloc and a touch of 4 GiB: at most 10 % over mmap and a touch, small pages and huge",
        cost,
    ),
]
