"""Fixture: a temporary tree with one acceptance program and one page, for tests of make results."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = '''\
"""Lines that write down when they are measured; the file `orders` says which one ends badly."""
import os
import signal
import sys
from pathlib import Path

import harness
from harness import Criterion, Measured, Unavailable, keep_part, main

LOG, ORDERS = Path(os.environ["TOY_LOG"]), Path(os.environ["TOY_LOG"]).with_name("orders")


def measured(name, text, holds):
    def measure():
        with LOG.open("a") as log:
            log.write(name + "\\n")
        order = ORDERS.read_text() if ORDERS.exists() else ""
        if order == f"die {name}":
            os._exit(9)
        if order == f"end {name}":
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                with LOG.open("a") as log:
                    log.write("cleared\\n")
        if order == f"fail {name}":
            raise RuntimeError("it broke")
        if order == f"late {name}":
            harness._SESSION.deadline = 0.0  # the time is up
        if order == f"miss {name}":
            raise Unavailable("no such tool")
        return Measured(text, holds)

    return measure


def parts():
    sums = [keep_part(f"part{n}", lambda n=n: measured(f"part{n}", str(n), True)().text) for n in range(3)]
    return Measured(" ".join(sums), True)


CRITERIA = [
    Criterion("first", "at least 3", measured("first", "4 of 5", True)),
    Criterion("second", "at most 7 %", measured("second", "9.25 % on average\\ncg 9 %\\nmg 9.5 %", False)),
    Criterion("third", "all parts", parts),
]


if __name__ == "__main__":
    sys.exit(main("toy", CRITERIA, {"--quick": {"action": "store_true"}}))
'''
PAGE = "# Toy\n\nWhat is measured.\n\n{{ lines toy }}\n"
BLOCK = """{{ picture report docs }}

{{ demo paging }}

{{ demo placement }}

{{ made readme }}

{{ output 2 seq 3 | tac }}
"""
README = """# Title

Before.

<!-- results: begin -->
An old figure: 17 %.
<!-- results: end -->

After, with a figure of its own: 1024.
"""


class Tree:
    """A clone-like folder under git, and what is run in it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder / "tree", folder / "log"
        here = self.root / "acceptance"
        shutil.copytree(
            ROOT / "acceptance" / "results",
            here / "results",
            ignore=shutil.ignore_patterns("templates", "__pycache__"),
        )
        for name in ("harness.py", "run_results.py"):
            shutil.copy(ROOT / "acceptance" / name, here / name)
        self.write("acceptance/run_toy.py", PROGRAM)
        self.write("acceptance/toy", f'#!/bin/sh\nexec "{sys.executable}" "$(dirname "$0")/run_toy.py" "$@"\n')
        (here / "toy").chmod(0o755)
        self.write("acceptance/results/templates/toy.md", PAGE)
        self.write("acceptance/results/templates/index.md", "# Index\n\n{{ pages }}\n\n{{ summary }}\n")
        self.write("acceptance/results/templates/block.md", BLOCK)
        self.write("python/terrace/verbs/lab/experiment/__init__.py", "")
        self.write("README.md", README)
        self.write(".gitignore", "/out/\n__pycache__/\n")
        self.git("init", "-q")
        self.commit("Begin")

    def write(self, name: str, text: str) -> None:
        """Writes a file of the tree."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str:
        """Reads a file of the tree."""
        return (self.root / name).read_text()

    def git(self, *words: str) -> str:
        """Runs git; returns its output."""
        who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(self, subject: str) -> str:
        """Commits all files; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def order(self, text: str) -> None:
        """Sets the behaviour of the next call: "die second", "fail first", or none."""
        self.log.with_name("orders").write_text(text)

    def run(self, *words: str, program: str = "acceptance/run_results.py") -> subprocess.CompletedProcess[str]:
        """Runs `make results` with these words, or another program of the tree."""
        return subprocess.run(
            [sys.executable, self.root / program, *words],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "TOY_LOG": str(self.log)},
        )

    def toy(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the acceptance program by itself."""
        return self.run(*words, program="acceptance/run_toy.py")

    def measured(self) -> list[str]:
        """Returns which criteria were measured, in their order, and forgets them."""
        found = self.log.read_text().split() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return found

    def folder(self, commit: str | None = None, dirty: bool = False) -> Path:
        """Returns the folder of the documents."""
        name = (commit or self.git("rev-parse", "HEAD"))[:12] + ("-dirty" if dirty else "")
        return self.root / ("out/results" if dirty else "docs/results/data") / name

    def document(self, step: str = "toy") -> dict:
        """Returns the document of the current commit."""
        return json.loads((self.folder() / f"{step}.json").read_text())

    def keep(self, step: str, content: dict) -> None:
        """Writes a synthetic document of the current commit."""
        machine = {"processor": "A processor", "cores": 2, "memory_bytes": 8 << 30, "kernel": "Linux 6.1"}
        head = {"schema": 1, "step": step, "command": f"make {step}", "commit": self.git("rev-parse", "HEAD")}
        made = {"dirty": False, "date": "2026-11-23", "machine": machine, "seconds": 1.0}
        self.folder().mkdir(parents=True, exist_ok=True)
        (self.folder() / f"{step}.json").write_text(json.dumps({**head, **made, **content}))

    def move_to_dirty(self) -> None:
        """Moves the kept documents to those of a tree with changes."""
        target = self.folder(dirty=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        self.folder().rename(target)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Returns a fresh tree."""
    return Tree(tmp_path)
