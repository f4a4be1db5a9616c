"""Subcommands are found by listing their folder; each has a summary in its first line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import terrace.verbs
from terrace.cli import first_line

FOLDER = Path(terrace.verbs.__path__[0])
VERB = '''"""`{name}`: say how many words were given."""

import typer


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("dummy-verb")(dummy_verb)


def dummy_verb(words: list[str]) -> int:
    """Say how many words were given."""
    print(len(words))
    return 3
'''


MODULES = sorted(file.relative_to(FOLDER) for file in FOLDER.rglob("*.py") if file.stem != "__init__")
GROUPS = sorted(file.parent.relative_to(FOLDER) for file in FOLDER.glob("*/**/__init__.py"))


def verb_of(module):
    return " ".join(module.with_suffix("").parts).replace("_", "-")


@pytest.mark.parametrize("module", [*MODULES, *GROUPS], ids=str)
def test_subcommand_has_a_summary(module):
    file = FOLDER / (module / "__init__.py" if module in GROUPS else module)
    text = file.read_text().removeprefix("# SPDX-License-Identifier: Apache-2.0\n")
    assert text.startswith(f'"""`terrace {verb_of(module)}`: ')
    assert 10 < len(first_line(FOLDER / module)) < 80


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_help_has_an_example(terrace, module):
    verb = verb_of(module)
    done = terrace(*verb.split(), "--help")
    assert done.returncode == 0
    assert re.search(rf"Examples?:\n(.*\n)*\s+terrace {verb} ", done.stdout)


@pytest.mark.parametrize("group", [(), ("lab",), ("lab", "experiment")])
def test_help_lists_the_folder(terrace, group):
    folder = FOLDER.joinpath(*group)
    listed = terrace(*group, "--help").stdout.partition("Commands:\n")[2]
    names = {line.split()[0] for line in listed.splitlines() if line[:2] == "  " and line[2:3].strip()}
    there = {file.stem for file in folder.glob("*.py")} | {
        file.parent.name for file in folder.glob("*/__init__.py")
    }
    assert names == {name.replace("_", "-") for name in there - {"__init__"}}


def test_new_subcommand_is_one_new_file(tmp_path):
    """In a copy of the package, called through the launcher, which lists the folder itself."""
    package = tmp_path / "lib" / "python3" / "site-packages" / "terrace"
    shutil.copytree(FOLDER.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for group in ((), ("lab",)):
        name = " ".join(("terrace", *group, "dummy-verb"))
        (package.joinpath("verbs", *group) / "dummy_verb.py").write_text(VERB.format(name=name))
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH={package.parent} exec {sys.executable} "$@"\n')
    python.chmod(0o755)

    def run(*words):
        command = [Path(sys.executable).with_name("terrace"), *words]
        environment = {**os.environ, "TERRACE_PYTHON": str(python)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    for group in ((), ("lab",)):
        assert re.search(
            r"^  dummy-verb +say how many words were given$", run(*group, "--help").stdout, re.MULTILINE
        )
        done = run(*group, "dummy-verb", "a", "b")
        assert (done.returncode, done.stdout, done.stderr) == (3, "2\n", "")
    (package / "verbs" / "hollow.py").write_text('"""`terrace hollow`: do nothing at all."""\n')
    hollow = run("hollow")
    assert (hollow.returncode, hollow.stdout) == (1, "")
    assert hollow.stderr == (
        f"terrace: {package / 'verbs' / 'hollow.py'} is not a subcommand: "
        "it has no function register(app); define it\n"
    )
    unknown = run("dance")
    assert (unknown.returncode, unknown.stderr) == (
        2,
        "terrace: there is no subcommand 'dance'; terrace --help lists them\n",
    )


def test_launcher_without_tables_asks_python(tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    command = [Path(sys.executable).with_name("terrace"), "dance", "--fast"]
    environment = {**os.environ, "TERRACE_PYTHON": str(python)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "-P -m terrace dance --fast\n"
