"""Recipes of public programs: what is read, what is refused, which loop counts as the one that was stated."""

import hashlib
import json
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from others_tool.build import BuildTree
from others_tool.clock import called
from others_tool.execute import WrongResult, execute, same
from others_tool.fetch import NoArchive, archive
from others_tool.inputs import prepared
from others_tool.loops import MainLoop, is_right
from others_tool.recipe import FOLDER, Recipe, Source, WrongRecipe, read, read_all
from terrace.lab import calibrating
from terrace.lab import native as natively

WHOLE = """
title = "a program"
languages = ["C"]
[source]
debian = "a"
version = "1-1"
archive = "a_1.orig.tar.gz"
sha256 = "00"
[build]
commands = "make"
program = "a"
[inputs.words]
make = "literal"
text = "three words here\\n"
[run.small]
arguments = "-c 'cat words; echo time 0.5'"
files = { words = "{inputs}/words" }
[run.full]
arguments = "-c 'exit 3'"
[verify]
says = "words"
drop = "^time"
[time]
says = "time ([0-9.]+)"
[loop]
because = "it is one"
[[loop.is]]
at = "solve of a.c:3"
functions = ["solve"]
turns = { small = 10, full = 1000 }
"""


def recipe(folder: Path, text: str = WHOLE) -> Recipe:
    path = folder / "a.toml"
    path.write_text(text)
    return read(path)


def test_all_recipes_are_read_and_their_inputs_are_made_by_known_modules() -> None:
    recipes = read_all()
    assert len(recipes) >= 20
    modules = {path.stem for path in (FOLDER.parent / "others_tool" / "inputs").glob("*.py")}
    for each in recipes.values():
        assert each.loops or each.because
        assert {given["make"] for given in each.inputs.values()} <= modules
        sums = (each.source.version, 40) if each.source.registry == "git" else (each.source.sha256, 64)
        assert len(sums[0]) == sums[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "a program"', "", "title is missing"),
        ('program = "a"', 'porgram = "a"', "build.porgram is not known"),
        ('debian = "a"', 'debian = "a"\npypi = "a"', "needs exactly one of"),
        ('debian = "a"', 'git = "https://a.example/a"', "whole id of a commit"),
        (", full = 1000", "", "full is missing"),
        ('says = "words"', 'says = "("', "unterminated"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_file_and_what_is_wrong(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(WrongRecipe, match=f"a.toml: .*{said}"):
        recipe(tmp_path, WHOLE.replace(old, new))


@given(st.text())
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "a.toml"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        assert read(path).name == "a"
    except WrongRecipe as refused:
        assert str(refused).startswith("a.toml: ")


@pytest.mark.parametrize(
    ("name", "turns", "right"),
    [
        ("solve:120", 10, True),
        ("Solver::solve(int):120", 11, True),
        ("solve_:3", 9, True),
        ("solve.constprop.0:3", 10, True),
        ("solve<std::map<std::string, a::b>, 17>:3", 10, True),
        ("a::Solver<int>::solve(std::pair<int, int>):3", 10, True),
        ("resolve:120", 10, False),
        ("solve:120", 12, False),
        ("", 0, False),
    ],
)
def test_is_right_compares_function_and_iterations(tmp_path: Path, name: str, turns: int, right: bool) -> None:
    assert is_right(recipe(tmp_path), "small", MainLoop(name, "", turns)) == right


def test_is_right_no_loop_stated_none_found(tmp_path: Path) -> None:
    none = recipe(tmp_path, WHOLE[: WHOLE.index("[loop]")] + '[loop]\nnone = true\nbecause = "one pass"')
    assert is_right(none, "small", MainLoop("", "", 0))
    assert not is_right(none, "small", MainLoop("main:3", "", 9))


def test_a_run_is_timed_checked_and_compared(tmp_path: Path) -> None:
    about, shell = recipe(tmp_path), BuildTree(tmp_path, Path("/bin/sh"), 0.0)
    done = execute(about, shell, "small", tmp_path)
    assert done.output == "three words here" and done.said == 0.5
    same(about, done, done)
    other = recipe(tmp_path, WHOLE.replace("echo time", "echo more; echo time"))
    with pytest.raises(WrongResult, match="printed"):
        same(about, done, execute(other, shell, "small", tmp_path))
    with pytest.raises(WrongResult, match="ended with 3"):
        execute(about, shell, "full", tmp_path)


def test_recipe_program_of_a_size_runs_instead_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to("/bin/echo")
    about = recipe(tmp_path, WHOLE.replace("exit 3'\"", 'words\'"\nprogram = "other"'))
    assert execute(about, BuildTree(tmp_path, Path("/bin/sh"), 0.0), "full", tmp_path).output == "-c words"


def test_a_size_for_calibration_is_read_where_there_is_one(tmp_path: Path) -> None:
    assert set(recipe(tmp_path).runs) == {"small", "full"}
    more = recipe(tmp_path, WHOLE.replace("[run.full]", '[run.calibrate]\narguments = "-c pwd"\n[run.full]'))
    assert more.runs["calibrate"].arguments == "-c pwd"


def test_values_by_size_and_by_member_are_filled_in(tmp_path: Path) -> None:
    text = WHOLE[: WHOLE.index("[inputs.words]")] + WHOLE[WHOLE.index("[verify]") :]
    text = (
        text.replace('"a program"', '"@kind@ program"')
        + """
[inputs."@size@.txt"]
make = "literal"
COUNT = { small = 1, full = 20 }
text = "@COUNT@ of @COUNT@"
[run]
arguments = { small = "-s", full = "-f" }
stdin = "{inputs}/@size@.txt"
[family.one]
kind = "a"
[family.two]
kind = "another"
"""
    )
    (tmp_path / "a.toml").write_text(text)
    one, two = read_all(tmp_path).values()
    assert (one.name, one.title, two.name, two.title) == ("one", "a program", "two", "another program")
    assert one.inputs["full.txt"] == {"make": "literal", "text": "20 of 20"}
    assert one.runs["small"].arguments == "-s"
    assert one.runs["full"].stdin == "{inputs}/full.txt"


def test_calibration_runs_find_what_runs_find(tmp_path: Path) -> None:
    """Arguments, standard input and files, each form with its own program."""
    text = WHOLE.replace("[run.full]", 'stdin = "{inputs}/words"\n[run.full]').replace(
        "echo time", "cat; echo time"
    )
    built = {way: BuildTree(tmp_path, tmp_path / way, 0.0) for way in ("native", "hooked")}
    for one in built.values():
        one.program.symlink_to("/bin/sh")
    program = called(recipe(tmp_path, text.replace("[verify]", "[verify]\nstatus = 3")), built, "small", tmp_path)
    assert program.native[0] != program.hooked[0] and program.native[1:] == program.hooked[1:]
    assert program.around.status == 3
    said, _ = natively.run(program.native, around=replace(program.around, status=0))
    assert said == "three words here\nthree words here\ntime 0.5\n"
    assert calibrating.printed(said, program.time) == "0.5"


def test_inputs_are_the_same_whenever_they_are_made(tmp_path: Path) -> None:
    sums = {
        "genome": {"bases": 4000, "seed": 1, "reads": 3, "length": 100, "errors": 0.1},
        "prose": {"size": 5000, "seed": 1},
        "clauses": {"variables": 20, "clauses": 80, "seed": 1},
        "grid": {"side": 4, "seed": 1, "random_edges": 5},
        "points": {"count": 6, "dimensions": 3, "seed": 1},
        "family": {"count": 5, "length": 40, "seed": 1},
        "picture": {"width": 8, "height": 8, "seed": 1},
    }
    text = WHOLE + "".join(
        f"[inputs.{kind}]\nmake = {json.dumps(kind)}\n" + "".join(f"{k} = {v}\n" for k, v in given.items())
        for kind, given in sums.items()
    )
    made = []
    for name in ("one", "two"):
        folder = prepared(recipe(tmp_path, text), tmp_path / name)
        made.append({kind: hashlib.sha256((folder / kind).read_bytes()).hexdigest() for kind in sums})
    assert made[0] == made[1]
    assert len((tmp_path / "one" / "inputs" / "a" / "prose").read_bytes()) == 5000


def test_an_archive_with_another_sum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("others_tool.fetch._debian", lambda source, folder: (folder / "a").write_text("other"))
    with pytest.raises(NoArchive, match="a 1-1: a has the sum"):
        archive(Source("debian", "a", "1-1", "a", "00"), tmp_path)
    assert not list(tmp_path.glob("*.tar"))


def test_archive_git_commit_holds_its_files_other_id_refused(tmp_path: Path) -> None:
    repository = tmp_path / "origin"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@a.example"]
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    (repository / "a.c").write_text("int a;")
    subprocess.run([*git, "add", "a.c"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "a"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    packed = archive(Source("git", str(repository), commit, "", ""), tmp_path / "archives")
    with tarfile.open(packed) as files:
        assert [name for name in files.getnames() if name != "source"] == ["source/a.c"]
    with pytest.raises(NoArchive, match="git"):
        archive(Source("git", str(repository), "0" * 40, "", ""), tmp_path / "archives")
