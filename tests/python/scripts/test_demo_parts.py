"""`make demo` builds a part of the tree and installs it: all installed files must be in that part."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD


def linked_for(target: str) -> set[Path]:
    """Returns the libraries and programs that are linked for the target."""
    words = ["ninja", "-C", BUILD, "-t", "commands", target]
    commands = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {BUILD / name for name in re.findall(r" -o (\S+)", commands) if not name.endswith(".o")}


def installed() -> set[Path]:
    """Returns the required files of an installation in the build folder, with links resolved."""
    found: set[Path] = set()
    for path in BUILD.glob("**/cmake_install.cmake"):
        for call in re.findall(r"file\(INSTALL (.*?)\)", path.read_text(), re.S):
            if " OPTIONAL" not in call:
                found |= {Path(one).resolve() for one in re.findall(rf'"({BUILD}/[^"]+)"', call)}
    return found


@pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason="another generator than ninja")
def test_demo_builds_everything_installed():
    made = installed() & linked_for("all")
    assert len(made) > 5
    assert made <= linked_for("demo_parts"), "name its target in demo_parts (CMakeLists.txt)"
