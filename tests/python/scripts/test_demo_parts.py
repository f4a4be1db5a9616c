"""`make demo` builds a part of the tree and installs: what is installed has to be in that part."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD


def linked_for(target: str) -> set[Path]:
    """Libraries and programs that the build links before the target is done."""
    words = ["ninja", "-C", BUILD, "-t", "commands", target]
    commands = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {BUILD / name for name in re.findall(r" -o (\S+)", commands) if not name.endswith(".o")}


def installed() -> set[Path]:
    """Files of the build's folder that an installation takes and cannot do without; a link is what it leads to."""
    found: set[Path] = set()
    for path in BUILD.glob("**/cmake_install.cmake"):
        for call in re.findall(r"file\(INSTALL (.*?)\)", path.read_text(), re.S):
            if " OPTIONAL" not in call:
                found |= {Path(one).resolve() for one in re.findall(rf'"({BUILD}/[^"]+)"', call)}
    return found


@pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason="another generator than ninja")
def test_all_that_is_installed_is_built_for_the_demo():
    made = installed() & linked_for("all")
    assert len(made) > 5
    assert made <= linked_for("demo_parts"), "name its target in demo_parts (CMakeLists.txt)"
