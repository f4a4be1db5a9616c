"""Workload manifests: parsing, refusals, and that all readers agree."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terrace.errors import WrongCallError
from terrace.lab import workloads
from terrace.lab.workloads import CLASSES, EVERYWHERE, SOMEWHERE, STUDIES

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "workloads"
TABLES = ROOT / "scripts" / "workload_tables.py"
FOR_CPP = ROOT / "tests" / "support" / "workload_table.py"

WHOLE = """
title = "A sum"
after = "nobody, 2000"
order = 2.5
shared = ["parts"]
openmp = "rounded"
two_threads = ["golden"]

[size]
small = "--side 4 --steps 2"
golden = "--side 8"
S = "--class S"

[verify]
says = '^Verification +SUCCESSFUL$'
against = "the number of elements"
tolerance = "none"

[time]
says = '^Time +([0-9.]+) s'
lines = '^Time '

[loop]
name = "main"
iterations = 3
phases = ["init", [2, "a", [2, "b"]], "end"]

[study]
in = ["unimem", "demo"]
small = ["demo"]
S = "--class S --iterations 2"
W = "--class W"
A = "--class A"
footprint = 3e6
arrays = "sum.cpp"
"""
MIN = """
title = "A sum"
[size]
small = "--side 4"
[verify]
says = 'fine'
against = "the truth"
tolerance = "none"
"""


def write(folder: Path, text: str, name: str = "sum") -> Path:
    """Writes a workload's folder, next to one with shared sources."""
    for one in (name, "parts"):
        (folder / one).mkdir(exist_ok=True)
        (folder / one / f"{one}.cpp").write_text("")
    (folder / name / "workload.toml").write_text(text)
    return folder / name


def test_read_complete_manifest(tmp_path):
    found = workloads.read(write(tmp_path, WHOLE))
    assert (found.name, found.title, found.after, found.order) == ("sum", "A sum", "nobody, 2000", 2.5)
    assert (found.shared, found.openmp, found.two_threads) == (("parts",), "rounded", ("golden",))
    assert [path.name for path in found.sources()] == ["parts.cpp", "sum.cpp"]
    assert found.verified("Sum 3\nVerification   SUCCESSFUL\n") and not found.verified(
        "no Verification SUCCESSFUL"
    )
    assert found.loop is not None
    assert (found.loop.name, found.loop.iterations) == ("main", 3)
    assert found.loop.phases == ("init", "a", "b", "b", "a", "b", "b", "end")
    assert found.loop.shown == "init, 2 x (a, 2 x (b)), end"
    assert (found.study.names, found.study.small) == (("unimem", "demo"), ("demo",))
    assert found.study.words["S"] == ("--class", "S", "--iterations", "2")
    assert (found.study.footprint, found.study.published, found.study.arrays) == (3e6, True, "sum.cpp")


def test_read_minimal_manifest(tmp_path):
    found = workloads.read(write(tmp_path, MIN))
    assert (found.after, found.order, found.shared, found.openmp) == ("", float("inf"), (), "")
    assert (found.time, found.time_lines, found.loop) == ("", "", None)
    assert (found.study.names, found.study.published) == ((), False)
    assert found.study.footprint == workloads.ASSUMED_FOOTPRINT


def test_shared_file_is_one_source(tmp_path):
    folder = write(tmp_path, "ranks = [1, 2]\n" + changed('["parts"]', '["parts/one.cpp"]'))
    (tmp_path / "parts" / "one.cpp").write_text("")
    found = workloads.read(folder)
    assert [path.name for path in found.sources()] == ["one.cpp", "sum.cpp"]
    assert found.ranks == (1, 2)


def test_size_without_arguments_uses_the_default(tmp_path):
    found = workloads.read(write(tmp_path, WHOLE))
    assert found.words("golden") == ["--side", "8"]
    for size in EVERYWHERE.keys() - {"golden"}:
        assert found.words(size) == ["--side", "4", "--steps", "2"], size
    assert found.has("S") and found.has("tiny") and not found.has("speed")
    with pytest.raises(WrongCallError, match=r"sum/workload.toml: size.speed is missing$"):
        found.words("speed")


def changed(before: str, after: str) -> str:
    assert before in WHOLE
    return WHOLE.replace(before, after)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "Invalid value"),
        (changed('title = "A sum"', ""), "title: is missing"),
        (changed('"A sum"', "3"), "title: 3 is not a string"),
        (changed("order = 2.5", "order = true"), "order: True is not a number"),
        (changed("order", "ordre"), "ordre: unknown key; known: title, after, order"),
        (changed("golden = ", "gold = "), "size.gold: unknown key; known: small, tiny"),
        (changed('small = "--side', 'tiny = "--side'), "size.small: is missing"),
        (changed('"--side 8"', "8"), "size.golden: 8 is not a string"),
        (MIN.replace('[size]\nsmall = "--side 4"', "size = 4"), "size: is not a table"),
        (changed('"rounded"', '"maybe"'), "openmp: unknown value 'maybe'; known: same, rounded, races"),
        (changed('["golden"]', '["tiny"]'), "two_threads: unknown value 'tiny'; known: golden, replay"),
        (changed('openmp = "rounded"', ""), "two_threads: the workload has no openmp"),
        (changed('["parts"]', '"parts"'), "shared: parts is not a list of strings"),
        (changed('["parts"]', '["nowhere"]'), "shared: the folder 'nowhere' has no sources"),
        (changed('["parts"]', '["parts/no.cpp"]'), "shared: the folder 'parts/no.cpp' has no sources"),
        ("ranks = [1, 0]\n" + MIN, "ranks: [1, 0] is not a list of positive integers"),
        (changed('["parts"]', '[\n"parts"]'), "shared: write it on one line"),
        (
            changed("says = '^V", "says = '(^V"),
            "verify.says: '(^Verification +SUCCESSFUL$' is not a regular expression",
        ),
        (
            changed("SUCCESSFUL$", "(SUCCESSFUL)$"),
            "verify.says: '^Verification +(SUCCESSFUL)$' has 1 groups instead of 0",
        ),
        (changed("([0-9.]+)", "[0-9.]+"), "time.says: '^Time +[0-9.]+ s' has 0 groups instead of 1"),
        (changed("iterations = 3", "iterations = 1.5"), "loop.iterations: 1.5 is not a positive integer"),
        (changed("iterations = 3", "iterations = 0"), "loop.iterations: 0 is not a positive integer"),
        (changed('["init", [2,', '["init", ["two",'), "loop.phases: write for example"),
        (changed('["init", [2, "a", [2, "b"]], "end"]', "[]"), "loop.phases: write for example"),
        (changed('in = ["unimem",', 'in = ["unimum",'), "study.in: unknown value 'unimum'; known: demo, unimem"),
        (changed('small = ["demo"]', 'small = ["baselines"]'), "study.small: unknown value 'baselines'"),
        (changed('W = "--class W"', ""), "study.W: is missing"),
        (changed("3e6", '"3 MB"'), "study.footprint: 3 MB is not a number"),
    ],
)
def test_read_invalid_manifest_states_key(tmp_path, text, says):
    folder = write(tmp_path, text)
    with pytest.raises(WrongCallError) as raised:
        workloads.read(folder)
    line = str(raised.value)
    assert line.startswith(f"{folder / 'workload.toml'}: ")
    assert says in line
    assert "\n" not in line


def test_read_all_without_manifests_fails(tmp_path):
    with pytest.raises(WrongCallError, match=r"no subfolder has a workload.toml: run this in .* --source"):
        workloads.read_all(tmp_path)


def test_order_studies_and_selection(tmp_path):
    for name, text in (("b", MIN), ("a", MIN), ("z", WHOLE), ("y", changed("2.5", "1"))):
        write(tmp_path, text, name)
    there = workloads.read_all(tmp_path)
    assert list(there) == ["y", "z", "a", "b"]
    assert [one.name for one in workloads.of_study(there, "unimem")] == ["y", "z"]
    assert workloads.of_study(there, "unimem", small=True) == ()
    assert [one.name for one in workloads.of_study(there, "demo", small=True)] == ["y", "z"]
    everyone = tuple(there.values())
    assert workloads.chosen(None, everyone) == everyone
    assert [one.name for one in workloads.chosen("b, z", everyone)] == ["z", "b"]
    with pytest.raises(WrongCallError, match="--only b,c: unknown program 'c'; known: y, z, a, b"):
        workloads.chosen("b,c", everyone)


# --- those that there are ----------------------------------------------------------------------------------------


def test_every_program_has_a_valid_manifest():
    there = workloads.read_all(FOLDER)
    assert there.keys() == {path.stem for path in FOLDER.glob("*/*.cpp") if path.stem == path.parent.name}
    for study in STUDIES:
        assert workloads.of_study(there, study), study
    for size in SOMEWHERE:
        assert any(size in one.sizes for one in there.values()), size
    for one in there.values():
        assert one.loop is not None
        assert not one.has("measure") or (one.time and one.openmp), (
            f"{one.name}: `terrace lab validate` needs both"
        )
        assert not one.has("speed") or one.has("cachegrind"), one.name
        if "demo" in one.study.names:
            assert all(one.has(letter) for letter in CLASSES), one.name


COMPILER = r"""#!/bin/sh
echo "$@" >> "$LOG"
for word; do [ "$before" = -o ] && : > "$word"; before=$word; done
"""


def linked(source: Path, folder: Path, *names: str) -> dict[str, set[str]]:
    """Returns by program the sources that build.sh compiles, from a fake compiler that prints its arguments."""
    compiler, log = folder / "compiler", folder / "log"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "CXX": str(compiler), "LOG": str(log)}
    subprocess.run(["sh", source / "build.sh", folder / "out", *names], check=True, env=environment)
    calls = [line.split() for line in log.read_text().splitlines()]
    made = {call[call.index("-o") + 1]: call[call.index("-c") + 1] for call in calls if "-c" in call}
    return {
        Path(call[call.index("-o") + 1]).name: {made[word] for word in call if word in made}
        for call in calls
        if "-c" not in call
    }


def test_build_script_agrees_with_reader(tmp_path):
    common = {str(path) for path in FOLDER.glob("common/*.cpp")}
    expected = {
        one.name: common | {str(path) for path in one.sources()} for one in workloads.read_all(FOLDER).values()
    }
    assert linked(FOLDER, tmp_path) == expected


def test_programs_for_ranks_are_apart_and_build_script_agrees(tmp_path):
    common = {str(path) for path in FOLDER.glob("common/*.cpp")}
    there = workloads.read_all(FOLDER / "mpi")
    expected = {one.name: common | {str(path) for path in one.sources()} for one in there.values()}
    assert linked(FOLDER, tmp_path, *(f"mpi/{name}" for name in there)) == expected
    assert all(one.ranks for one in there.values())
    assert not any(one.ranks for one in workloads.read_all(FOLDER).values())


def test_additional_workload_is_one_folder(tmp_path):
    """Adds the dummy of tests/support/variants in a copy: reader, build script and table of tests contain it."""
    copy = tmp_path / "workloads"
    shutil.copytree(FOLDER, copy)
    shutil.copytree(ROOT / "tests" / "support" / "variants" / "workload", copy / "dummy")
    assert "dummy" in workloads.read_all(copy)
    assert str(copy / "dummy" / "dummy.cpp") in linked(copy, tmp_path)["dummy"]
    table = tmp_path / "table.inc"
    done = subprocess.run([sys.executable, FOR_CPP, copy, table], check=True, capture_output=True, text=True)
    assert '{"dummy", "", "", "", "", ' in table.read_text()
    hooked = [one.name for one in workloads.read_all(FOLDER).values() if one.has("hooked")]
    assert done.stdout.strip().split(";") == hooked


def test_invalid_manifest_stops_the_table_of_tests(tmp_path):
    write(tmp_path, "titel = 1\n")
    done = subprocess.run([sys.executable, FOR_CPP, tmp_path, tmp_path / "x"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path}/sum/workload.toml: titel: unknown key")
    assert done.stderr.count("\n") == 1


def test_tables_of_the_page_are_up_to_date():
    done = subprocess.run([sys.executable, TABLES, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
