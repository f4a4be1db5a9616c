"""examples/: the commands of each README run in a copy of its folder, and print what the README shows."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples"
PREFIX = ROOT / ".venv"
FOLDERS = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of code of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_index_lists_every_example():
    linked = set(re.findall(r"^\| \[[\w-]+\]\(([\w-]+)\)", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert linked == set(FOLDERS) == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", FOLDERS)
def test_example_prints_what_its_readme_shows(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    (commands,), (expected,) = (blocks(folder / "README.md", language) for language in ("sh", "text"))
    environment = os.environ | {
        "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig",
        "CMAKE_PREFIX_PATH": str(PREFIX),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    missing = [line for line in expected.splitlines() if line not in done.stdout]
    assert not missing, done.stdout + done.stderr
