"""The Spack recipe against what CMake and pip know; its directives are recorded, as Spack is not at hand."""

import re
import runpy
import sys
import tomllib
import types
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
REPOSITORY = ROOT / "packaging" / "spack" / "spack_repo" / "terrace"
RECIPE = REPOSITORY / "packages" / "terrace" / "package.py"
# Spack's names of what CMake looks for.
LIBRARIES = {
    "SQLite3": "sqlite",
    "TERRACE_TOML_INCLUDE": "tomlplusplus",
    "TERRACE_HWLOC": "hwloc",
    "TERRACE_DW": "elfutils",
    "TERRACE_CAPSTONE": "capstone",
    "TERRACE_PFM": "libpfm4",
    "TERRACE_PFM_INCLUDE": "libpfm4",
    "TERRACE_ZSTD": "zstd",
    "TERRACE_ZSTD_INCLUDE": "zstd",
    "TERRACE_URING": "liburing",
    "fmt": "fmt",
    "CLI11": "cli11",
    "nlohmann_json": "nlohmann-json",
    "PkgConfig": "pkgconfig",
    "nanobind": "py-nanobind",
    "Python": "python",
    "Threads": "c",
}
DIRECTIVES = ("license", "version", "variant", "depends_on", "extends", "requires", "conflicts")


@pytest.fixture(scope="module")
def recipe():
    """Returns the class, and each directive as (name, words, condition)."""
    said, conditions = [], []

    def directive(name):
        return lambda *words, **more: said.append((name, words, tuple(conditions), more))

    @contextmanager
    def when(condition):
        conditions.append(condition)
        yield
        conditions.pop()

    class CMakePackage:
        def define_from_variant(self, option, variant):
            return option, variant

    package = types.ModuleType("spack.package")
    package.__dict__.update({name: directive(name) for name in DIRECTIVES}, when=when)
    systems = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    systems.CMakePackage = CMakePackage
    modules = {"spack": types.ModuleType("spack"), package.__name__: package, systems.__name__: systems}
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        modules[name] = types.ModuleType(name)
    with pytest.MonkeyPatch.context() as patch:
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        found = runpy.run_path(str(RECIPE))["Terrace"]
    return found, said


def dependencies(said):
    """Returns version ranges by name, "" for any."""
    words = [words[0].split()[0] for name, words, _, _ in said if name in ("depends_on", "extends")]
    return {word.partition("@")[0]: word.partition("@")[2] for word in words}


def test_each_variant_is_a_cmake_option(recipe):
    found, said = recipe
    options = set(re.findall(r"^option\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE))
    defined = dict(found().cmake_args())
    assert set(defined) <= options
    assert set(defined.values()) == {words[0] for name, words, _, _ in said if name == "variant"}


def test_dependencies_cover_cmake(recipe):
    needed = set()
    for file in [*ROOT.glob("src/**/CMakeLists.txt"), ROOT / "python" / "CMakeLists.txt"]:
        text = file.read_text()
        needed |= set(re.findall(r"find_package\((\w+)[^)]*REQUIRED", text))
        needed |= set(re.findall(r"(?:pkg_check_modules|find_library|find_path)\((\w+)[^)]*REQUIRED", text))
    assert needed
    assert {name for name in needed if LIBRARIES.get(name) not in dependencies(recipe[1])} == set()


def test_python_packages_equal_pip(recipe):
    """Compares names and minimum versions."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    least = {re.split("[<>=]", line)[0]: re.findall(">=([0-9.]+)", line)[0] for line in wanted}
    known = dependencies(recipe[1])
    assert {name: known.get(f"py-{name}", "").partition(":")[0] for name in least} == least


def test_python_and_cmake_versions_suffice(recipe):
    known = dependencies(recipe[1])
    cmake = re.findall(r"cmake_minimum_required\(VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert known["cmake"] == f"{cmake[0]}:"
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert known["python"] == f"{tomllib.load(file)['project']['requires-python'].removeprefix('>=')}:"


def test_repository_has_the_layout_of_spack(recipe):
    """Layout of Spack's package interface 2: spack_repo/NAMESPACE/packages/NAME/package.py."""
    text = (REPOSITORY / "repo.yaml").read_text()
    assert f"namespace: {REPOSITORY.name}" in text
    assert REPOSITORY.parent.name == "spack_repo"
    assert recipe[0].git == f"file://{ROOT}"
    assert (ROOT / "CMakeLists.txt").is_file()
