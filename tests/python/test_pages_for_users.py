"""The pages for kinds of users: each command on them is run, in their order, and shows what the page shows.

A line of a `console` block that begins with `$ ` is run in a folder that has the pages' program. A line below it
has to begin a line of what it prints, numbers apart.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["application-users", "developers", "centres", "buyers", "researchers"]
PREFIX = Path(sys.executable).parent.parent


def blocks(text):
    """(language, name of the file or "", contents) of each."""
    return re.findall(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", text, re.DOTALL)


def alike(line):
    """A line without its numbers, their units and the space between its columns."""
    return " ".join(re.sub(r"(?<![\w-])[-+]?\d[\d.]*\s?(%|[kMGT]?i?B|[munp]?s)?(?![\w-])", "#", line).split())


def commands(block):
    """Each command with the lines that the page shows below it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line:
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_each_command_does_what_the_page_shows(page, tmp_path):
    shutil.copy(ROOT / "tests/python/pages/app.c", tmp_path)
    subprocess.run(["gcc", "-O2", "app.c", "-o", "app"], cwd=tmp_path, check=True)
    environment = {
        **os.environ,
        "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "NO_COLOR": "1",
        "COLUMNS": "150",
    }
    ran = 0
    for name, language, contents in blocks((ROOT / "docs" / f"for-{page}.md").read_text()):
        if name:
            (tmp_path / name).write_text(contents)
        if language != "console":
            continue
        for command, shown in commands(contents):
            if "mpirun" in command and shutil.which("mpirun") is None:
                continue
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}"
            printed = [alike(line) for line in done.stdout.splitlines()]
            for line in shown:
                assert any(there.startswith(alike(line)) for there in printed), (
                    f"$ {command}\n{line}\n{done.stdout}"
                )
            ran += 1
    assert ran >= 4


@pytest.mark.parametrize("page", PAGES)
def test_a_page_takes_ten_minutes(page):
    words = (ROOT / "docs" / f"for-{page}.md").read_text().split()
    assert len(words) < 900
