"""scripts/modules.py on made-up trees: it finds forbidden dependencies, circles, and files of a wrong size."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "modules.py"
PYTHON = 'errors = []\nstore = ["errors"]\nreport = ["errors", "store"]\n'
CPP = '[foundation]\ncore = []\nmemory = ["core"]\n[tiering]\nagent = ["core"]\n[products]\npim = ["core"]\n'
LONG = "# a line\n" * 40  # no small file


def tree(folder: Path, files: dict[str, str]) -> Path:
    files = {
        "src/dependencies.toml": CPP,
        "python/dependencies.toml": PYTHON,
        "python/terrace/__init__.py": '"""A package."""\n',
        "python/terrace/errors.py": LONG,
        "python/terrace/store/__init__.py": "from terrace import errors\n",
        "python/terrace/report/__init__.py": "from terrace import errors, store\n",
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


CPP_IN_ORDER = {
    "src/foundation/core/units.hpp": LONG,
    "src/foundation/memory/chunks.hpp": '#include "core/units.hpp"\n' + LONG,
    "src/tiering/agent/heap.hpp": '#include "core/units.hpp"\n' + LONG,
    "src/pim/board.hpp": '#include "core/units.hpp"\n' + LONG,
}


def test_tree_in_order_passes(tmp_path):
    files = {
        **CPP_IN_ORDER,
        "python/terrace/store/reader.py": "from terrace.errors import E\n" + LONG,
        "python/terrace/report/page.py": "from terrace import errors\nfrom terrace.store import reader\n" + LONG,
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
def test_forbidden_import_is_found(tmp_path, how):
    files = {
        **CPP_IN_ORDER,
        "python/terrace/store/reader.py": f"{how}\n{LONG}",
        "python/terrace/report/page.py": LONG,
        "python/terrace/report/__init__.py": "from terrace import errors\nimport terrace.store.names\n",
        "python/terrace/store/names.py": LONG,
        "python/dependencies.toml": PYTHON,
    }
    status, lines = check(tree(tmp_path, files))
    used = "python/terrace/store/reader.py uses python/terrace/report/page.py"
    assert status == 1
    assert f"{used}: python/dependencies.toml does not allow store to use report" in lines


def test_circle_of_files_is_found(tmp_path):
    modules = "abc"
    files = {
        f"python/terrace/store/{name}.py": f"from terrace.store import {following}\n{LONG}"
        for name, following in zip(modules, modules[1:] + modules[:1], strict=True)
    }
    names = ", ".join(f"python/terrace/store/{name}.py" for name in modules)
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, [f"a circle: {names}"])


def test_circle_of_subfolders_is_found(tmp_path):
    files = {
        "src/pim/parts/cell.hpp": '#include "pim/names.hpp"\n' + LONG,
        "src/pim/names.hpp": LONG,
        "src/pim/array.hpp": '#include "pim/parts/cell.hpp"\n' + LONG,
    }
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, ["a circle: src/pim, src/pim/parts"])


def test_circle_of_allowed_dependencies_is_found(tmp_path):
    files = {
        "src/dependencies.toml": CPP.replace("core = []", 'core = ["memory"]'),
        "src/foundation/core/names.hpp": '#include "memory/base.hpp"\n' + LONG,
        "src/foundation/memory/base.hpp": LONG,
    }
    status, lines = check(tree(tmp_path, {**CPP_IN_ORDER, **files}))
    assert status == 1
    assert "a circle: core, memory" in lines


def test_unstated_module_is_found(tmp_path):
    files = {"python/terrace/attic/things.py": LONG}
    expected = "attic: python/dependencies.toml does not state it"
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, [expected])


def test_unused_permission_is_found(tmp_path):
    files = {"src/pim/board.hpp": LONG}
    expected = "src/dependencies.toml: pim does not use core"
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, [expected])


def test_sizes_are_checked(tmp_path):
    files = {
        "python/terrace/store/long.py": "#\n" * 1001,
        "python/terrace/store/short.py": "#\n" * 29,
        "python/terrace/store/user.py": "from terrace.store import short\n" + LONG,
    }
    short = "python/terrace/store/short.py has 29 lines, and python/terrace/store/user.py alone uses it"
    long = "python/terrace/store/long.py has 1001 lines"
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, [long, short])
    (tmp_path / "python/terrace/report/page.py").write_text("from terrace.store.short import x\n" + LONG)
    assert check(tmp_path) == (1, [long])


def test_forbidden_include_is_found(tmp_path):
    files = {
        "src/foundation/core/units.hpp": '#include "agent/heap.hpp"\n' + LONG,
        "src/tiering/agent/part/small.hpp": "int x;\n",
        "src/tiering/agent/part/small.cpp": '#include "small.hpp"\n#include <vector>\n',
    }
    status, lines = check(tree(tmp_path, {**CPP_IN_ORDER, **files}))
    used = "src/foundation/core/units.hpp uses src/tiering/agent/heap.hpp"
    assert status == 1
    assert lines == [
        f"{used}: src/dependencies.toml does not allow core to use agent",
        "a circle: src/foundation/core, src/tiering/agent",
        "a circle: src/foundation/core/units.hpp, src/tiering/agent/heap.hpp",
        "src/tiering/agent/part/small.hpp has 1 lines, and src/tiering/agent/part/small.cpp alone uses it",
    ]


WITH_API = CPP.replace("[tiering]", "[public]\napi = []\n[tiering]").replace(
    'agent = ["core"]', 'agent = ["api", "core"]'
)
PUBLIC = {
    **CPP_IN_ORDER,
    "src/dependencies.toml": WITH_API.replace("[products]", '[products]\nstencil = ["core"]'),
    "include/terrace/terrace.h": "int a;\n",
    "include/terrace/hbwmalloc.h": "int b;\n",
    "include/terrace/bmem.h": "int c;\n",
    "include/terrace/stencil/grid.hpp": LONG,
    "src/tiering/agent/api/c_api.cpp": "#include <hbwmalloc.h>\n#include <terrace/terrace.h>\n",
    "src/pim/api.cpp": "#include<terrace/bmem.h>\n",
    "src/stencil/plan.cpp": '#include "core/units.hpp"\n#include "terrace/stencil/grid.hpp"\n',
}


def test_public_headers_belong_to_their_products(tmp_path):
    assert check(tree(tmp_path, PUBLIC)) == (0, [])


@pytest.mark.parametrize(
    ("name", "include", "used", "module", "target"),
    [
        ("src/pim/x.cpp", "<agent/heap.hpp>", "src/tiering/agent/heap.hpp", "pim", "agent"),
        ("src/pim/x.cpp", '"terrace/stencil/grid.hpp"', "include/terrace/stencil/grid.hpp", "pim", "stencil"),
        ("src/stencil/x.cpp", "<terrace/bmem.h>", "include/terrace/bmem.h", "stencil", "pim"),
        ("src/foundation/core/x.cpp", "<hbwmalloc.h>", "include/terrace/hbwmalloc.h", "core", "api"),
        ("include/terrace/stencil/x.hpp", "<terrace/terrace.h>", "include/terrace/terrace.h", "stencil", "api"),
        ("include/terrace/bmem.hpp", '"core/units.hpp"', None, "pim", "core"),
        ("include/terrace/terrace.hpp", '"core/units.hpp"', "src/foundation/core/units.hpp", "api", "core"),
    ],
)
def test_forbidden_include_of_or_by_a_public_header_is_found(tmp_path, name, include, used, module, target):
    lines = check(tree(tmp_path, {**PUBLIC, name: f"#include {include}\n"}))[1]
    expected = f"{name} uses {used}: src/dependencies.toml does not allow {module} to use {target}"
    assert lines == ([expected] if used else [])


def test_unused_public_module_is_found(tmp_path):
    files = {"src/tiering/agent/api/c_api.cpp": "#include <vector>\n"}
    assert check(tree(tmp_path, {**PUBLIC, **files})) == (1, ["src/dependencies.toml: agent does not use api"])


def test_stated_module_without_files_is_found(tmp_path):
    files = {
        "src/dependencies.toml": CPP + 'gpu = ["core"]\n',
        "python/dependencies.toml": PYTHON + "attic = []\n",
    }
    expected = [
        f"{side}/dependencies.toml: {name} has no files" for side, name in (("python", "attic"), ("src", "gpu"))
    ]
    assert check(tree(tmp_path, {**CPP_IN_ORDER, **files})) == (1, expected)


def test_this_tree_is_in_order():
    assert check(ROOT) == (0, [])
