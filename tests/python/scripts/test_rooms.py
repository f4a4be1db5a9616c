"""scripts/rooms.py on made-up trees: it has to see an arrow upwards, a circle, and files of a wrong size."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "rooms.py"
ABOUT = '"""A package.\n\n    errors -> store -> report\n"""\n'
LONG = "# a line\n" * 40  # no small file


def tree(folder: Path, files: dict[str, str]) -> Path:
    files = {
        "src/CMakeLists.txt": "foreach(room core memory agent)\nendforeach()\n",
        "python/terrace/__init__.py": ABOUT,
        "python/terrace/errors.py": LONG,
        "python/terrace/store/__init__.py": "",
        "python/terrace/report/__init__.py": "",
        **files,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def check(folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, SCRIPT, "--root", folder], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_a_tree_in_order_passes(tmp_path):
    files = {
        "python/terrace/store/reader.py": "from terrace.errors import E\n" + LONG,
        "python/terrace/report/page.py": "from terrace import errors\nfrom terrace.store import reader\n" + LONG,
        "src/core/units.hpp": LONG,
        "src/memory/chunks.hpp": '#include "core/units.hpp"\n' + LONG,
    }
    assert check(tree(tmp_path, files)) == (0, [])


@pytest.mark.parametrize(
    "how",
    [
        "from terrace.report import page",
        "from terrace.report.page import render",
        "import terrace.report.page",
        "from ..report import page",
        "def late():\n    from terrace.report.page import render",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from terrace.report.page import Page",
    ],
)
def test_an_arrow_upwards_is_seen(tmp_path, how):
    files = {"python/terrace/store/reader.py": f"{how}\n{LONG}", "python/terrace/report/page.py": LONG}
    status, lines = check(tree(tmp_path, files))
    expected = "python/terrace/store/reader.py uses python/terrace/report/page.py: store comes before report"
    assert (status, lines) == (1, [expected])


def test_a_circle_between_rooms_is_seen(tmp_path):
    files = {
        "python/terrace/store/reader.py": "import terrace.report.page\n" + LONG,
        "python/terrace/report/page.py": "import terrace.store.values\n" + LONG,
        "python/terrace/store/values.py": LONG,
    }
    status, lines = check(tree(tmp_path, files))
    assert status == 1
    assert "a circle: report, store" in lines
    assert not any("circle: python" in line for line in lines)  # the files have none


def test_a_circle_between_files_of_a_room_is_seen(tmp_path):
    modules = "abc"
    files = {
        f"python/terrace/store/{name}.py": f"from terrace.store import {following}\n{LONG}"
        for name, following in zip(modules, modules[1:] + modules[:1], strict=True)
    }
    names = ", ".join(f"python/terrace/store/{name}.py" for name in modules)
    assert check(tree(tmp_path, files)) == (1, [f"a circle: {names}"])


def test_a_room_without_a_place_is_seen(tmp_path):
    files = {"python/terrace/attic/things.py": LONG}
    assert check(tree(tmp_path, files)) == (1, ["attic/ is not in the order of the rooms"])


def test_sizes_are_seen(tmp_path):
    files = {
        "python/terrace/store/long.py": "#\n" * 401,
        "python/terrace/store/short.py": "#\n" * 29,
        "python/terrace/store/user.py": "from terrace.store import short\n" + LONG,
    }
    short = "python/terrace/store/short.py has 29 lines, and python/terrace/store/user.py alone uses it"
    assert check(tree(tmp_path, files)) == (1, ["python/terrace/store/long.py has 401 lines", short])
    (tmp_path / "python/terrace/report/page.py").write_text("from terrace.store.short import x\n" + LONG)
    assert check(tmp_path) == (1, ["python/terrace/store/long.py has 401 lines"])


def test_includes_count(tmp_path):
    files = {
        "src/core/units.hpp": '#include "agent/heap.hpp"\n' + LONG,
        "src/agent/heap.hpp": '#include "core/units.hpp"\n' + LONG,
        "src/agent/part/small.hpp": "int x;\n",
        "src/agent/part/small.cpp": '#include "small.hpp"\n#include <vector>\n',
    }
    status, lines = check(tree(tmp_path, files))
    assert status == 1
    assert lines == [
        "src/core/units.hpp uses src/agent/heap.hpp: core comes before agent",
        "a circle: agent, core",
        "a circle: src/agent/heap.hpp, src/core/units.hpp",
        "src/agent/part/small.hpp has 1 lines, and src/agent/part/small.cpp alone uses it",
    ]


def test_ours_is_in_order():
    assert check(ROOT) == (0, [])
