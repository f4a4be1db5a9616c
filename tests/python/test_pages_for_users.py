"""The pages for users: each command on them is run, in their order; those for kinds of users show what it prints.

A line of a `console` block that begins with `$ ` is run in a folder that has the pages' program. A line below it
has to begin a line of what it prints, numbers apart. docs/tutorials/quick-start.md has indented lines, with what a
command is for behind two spaces. `make results ARGS=--quick` writes the README's commands and what they print.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "acceptance"))

from results.steps import shown_commands  # noqa: E402

PAGES = ["application-users", "developers", "centres", "buyers", "researchers"]
PREFIX = Path(sys.executable).parent.parent


def blocks(text):
    """Returns (language, name of the file or "", contents) of each block."""
    return re.findall(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", text, re.DOTALL)


def alike(line):
    """Returns a line without numbers, units, column spacing and the machine's name."""
    line = re.sub(r"(process \d+ on) \S+,", r"\1 HOST,", line)
    return " ".join(
        re.sub(r"(?<![\w-])[-+]?\d[\d.]*\s?(%|[kMGT]?i?B|[munp]?s|[kMG])?(?![\w-])", "#", line).split()
    )


def commands(block):
    """Returns each command with the lines that the page shows below it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line:
            found[-1][1].append(line)
    return found


def execute(folder, command):
    """Runs a command of a page, with the tested installation in the path."""
    environment = {
        **os.environ,
        "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "NO_COLOR": "1",
        "COLUMNS": "150",
    }
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


def run_in(folder, command):
    """Runs a command of a page, which must succeed, and returns its output."""
    done = execute(folder, command)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    return done.stdout


def measure_or_be_refused(folder, command):
    """Measures the machine, which other tests use meanwhile. Another machine's file stands in if it is refused."""
    done = execute(folder, command)
    file = folder / command.rpartition(" -o ")[2]
    if done.returncode == 0:
        assert file.exists()
        return
    assert done.returncode == 1, done.stdout
    assert "no machine file is made: measure again when the machine is idle" in done.stdout
    assert not file.exists()
    shutil.copy(ROOT / "acceptance/programs_lines/same_node.toml", file)


@pytest.mark.parametrize("page", PAGES)
def test_each_command_prints_what_the_page_shows(page, tmp_path):
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
    source = (ROOT / "tests/python/pages/app.c").read_text()
    # Runs in virtual time take long, and print the same lines of fewer iterations, except where the page has the
    # whole output: it names the iterations that were not observed.
    iterations = "iteration < 4" if "app.hooked" in text and page != "developers" else "iteration < 10"
    assert source.count("iteration < 10") == 1
    (tmp_path / "app.c").write_text(source.replace("iteration < 10", iterations))
    subprocess.run(["gcc", "-O2", "app.c", "-o", "app"], cwd=tmp_path, check=True)
    ran = 0
    for name, language, contents in blocks(text):
        if name == "app.c":
            continue
        if name:
            (tmp_path / name).write_text(contents)
        if language != "console":
            continue
        for command, shown in commands(contents):
            if "mpirun" in command and shutil.which("mpirun") is None:
                continue
            if "machine measure" in command:
                measure_or_be_refused(tmp_path, command)
                ran += 1
                continue
            output = run_in(tmp_path, command)
            printed = [alike(line) for line in output.splitlines()]
            for line in shown:
                assert any(there.startswith(alike(line)) for there in printed), f"$ {command}\n{line}\n{output}"
            ran += 1
    assert ran >= 4


def test_program_is_printed():
    """Where the pages that use it point to."""
    printed = {name: text for name, _, text in blocks((ROOT / "docs/tutorials/developers.md").read_text())}
    assert printed["app.c"] == (ROOT / "tests/python/pages/app.c").read_text()
    for page in ("buyers", "developers", "researchers"):
        text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
        assert re.search(r"\[`app\.c`\]\((developers\.md)?#the-program\)", text)


@pytest.mark.parametrize("page", PAGES)
def test_page_takes_ten_minutes(page):
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
    consoles = [contents for _, language, contents in blocks(text) if language == "console"]
    output = sum(len(line.split()) for block in consoles for _, shown in commands(block) for line in shown)
    assert len(text.split()) - output < 900  # output is looked at, not read


def build(source, instrumented, plain):
    """Builds a program with hooks and without."""
    for compiler, program in ((f"{PREFIX}/bin/terrace-cc", instrumented), ("gcc", plain)):
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-g", "-O2", source, "-o", program], check=True)


# Words of commands of docs/tutorials/quick-start.md that need more than the pages' program and some seconds.
ELSEWHERE = ("machine measure", "--spill")


def test_each_command_of_the_quick_start_works(tmp_path):
    """In their order, on the pages' program with hooks (./app) and without (PLAIN/app)."""
    build(ROOT / "tests/python/pages/app.c", tmp_path / "app", tmp_path / "PLAIN/app")
    # In place of what `terrace machine measure` writes: a node that counts as two kinds of memory.
    machine = (ROOT / "acceptance/programs_lines/same_node.toml").read_text()
    (tmp_path / "here.toml").write_text(machine.replace('"256MiB"', '"16GiB"'))
    text = (ROOT / "docs/tutorials/quick-start.md").read_text()
    found = re.findall(r"^    (terrace .+?)(?:  .*)?$", text, re.MULTILINE)
    ran = [command for command in found if not any(word in command for word in ELSEWHERE)]
    for command in ran:
        run_in(tmp_path, command)
    assert len(ran) >= 12


def test_each_command_of_the_readme_works(tmp_path):
    """On the pages' program in place of the demo's, which ignores their arguments."""
    source = tmp_path / "app.c"
    source.write_text((ROOT / "tests/python/pages/app.c").read_text().replace("atol(argv[1])", "8"))
    build(source, tmp_path / "out/demo/bin/cg", tmp_path / "out/demo/paging/plain/mg")
    profile = "out/demo/cg-record.unimem-lat4.terrace"
    run_in(tmp_path, f"terrace record --machine unimem-lat4 -o {profile} -- out/demo/bin/cg")
    commands_shown = shown_commands(ROOT)
    for command in commands_shown:
        assert run_in(tmp_path, f"set -o pipefail; {command}")
    assert len(commands_shown) == 5
