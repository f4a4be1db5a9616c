"""Exit statuses: a fault has the same status in every subcommand, and one line names it.
The status depends on the remedy: 2 if the call must be changed, 1 if something failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from conftest import ROOT, TERRACE, run

MACHINE = ("--machine", "unimem-lat4")
# Subcommands that launch programs, with what they need beside one.
LAUNCHING = {
    "run": (),
    "record": (),
    "simulate": MACHINE,
    "compare": ("--pairs", "1"),
    "bounds": MACHINE,
    "lab trace": (),
}
PASSING = ("run", "record", "simulate", "lab trace")
# Subcommands that read a file that Terrace has written, with what they need beside it.
PROFILES = {"show": (), "plan": ("--fast", "1MiB"), "report": (), "export": (), "bounds": ()}
READING: dict[str, tuple[str, ...]] = {
    **PROFILES,
    "import": (),
    "replay": MACHINE,
    "merge": ("-o", "merged.terrace"),
    "lab misses": MACHINE,
    "lab sweep": ("--machines", "unimem-lat4"),
    "lab pim": ("--machine", "imi-ddr4"),
}
# Options whose file a person writes, by subcommand.
WRITTEN = {
    "run": ("--machine", "--plan", "--hints"),
    "record": ("--machine",),
    "simulate": ("--machine", "--plan", "--hints"),
    "bounds": ("--machine",),
}
VERBS = {*LAUNCHING, *READING, "machine"}
needs_qemu = pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-user is not installed")


def each(verbs):
    return [pytest.param(verb, marks=needs_qemu if "lab" in verb else ()) for verb in verbs]


def called(verb: str, *words: object, folder) -> subprocess.CompletedProcess[str]:
    command = [TERRACE, *verb.split(), *map(str, words)]
    environment = {**os.environ, "TERRACE_PROFILES": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=environment)
    assert done.returncode < 0 or "Traceback" not in done.stderr
    return done


def status(verb: str, *words: object, folder) -> int:
    """Returns the status of a failing call, which prints one line."""
    done = called(verb, *words, folder=folder)
    assert done.returncode != 0
    assert done.stdout == "", done.stdout
    assert done.stderr.startswith("terrace: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_unknown_option_is_a_wrong_call(verb, tmp_path):
    words = ("--", "true") if verb in ("run", "record", "simulate", "compare") else ("x", "-o", "y")
    assert status(verb, "--nonsense", *words, folder=tmp_path) == 2


@pytest.mark.parametrize("verb", sorted(VERBS - {"machine"}))
def test_missing_input_is_a_wrong_call(verb, tmp_path):
    assert status(verb, folder=tmp_path) == 2


@pytest.mark.parametrize("verb", sorted(READING))
def test_missing_file_is_a_wrong_call(verb, tmp_path):
    assert status(verb, "none.terrace", *READING[verb], folder=tmp_path) == 2


@pytest.mark.parametrize("content", ["a text of somebody's\n" * 20, ""], ids=["text", "empty"])
@pytest.mark.parametrize("verb", sorted(READING))
def test_file_of_another_kind_is_a_wrong_call(verb, content, tmp_path):
    if verb == "merge" and not content:
        pytest.skip("a process that wrote nothing leaves an empty journal")
    (tmp_path / "other.terrace").write_text(content)
    assert status(verb, "other.terrace", *READING[verb], folder=tmp_path) == 2


@pytest.mark.parametrize("verb", sorted(PROFILES))
def test_damaged_profile_is_a_failure(verb, store_path, tmp_path):
    whole = store_path.read_bytes()
    (tmp_path / "damaged.terrace").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert status(verb, "damaged.terrace", *PROFILES[verb], folder=tmp_path) == 1


@pytest.mark.parametrize("size", [100, 5000])
@pytest.mark.parametrize("verb", sorted(PROFILES))
def test_truncated_profile_is_a_failure(verb, size, store_path, tmp_path):
    """Its beginning identifies it."""
    (tmp_path / "cut.terrace").write_bytes(store_path.read_bytes()[:size])
    done = called(verb, "cut.terrace", *PROFILES[verb], folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("terrace: cut.terrace is damaged: record the program again (SQLite: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", sorted(PROFILES))
def test_folder_is_not_a_profile(verb, tmp_path):
    done = called(verb, tmp_path, *PROFILES[verb], folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path} is a folder; name a file" in done.stderr


def test_bounds_word_is_a_file_and_after_dashes_a_program(tmp_path):
    """Whatever its suffix."""
    (tmp_path / "nums.txt").write_text("1 2 3\n")
    done = called("bounds", "nums.txt", folder=tmp_path)
    assert done.returncode == 2 and "nums.txt is not a profile store" in done.stderr
    assert called("bounds", *MACHINE, "--", "nums.txt", folder=tmp_path).returncode == 127


def test_machine_file_in_current_folder_is_found(tmp_path):
    """An existing file is read; a shipped machine's name selects that machine."""
    text = (ROOT / "machines" / "unimem-bw2.toml").read_text()
    for name in ("mine.txt", "unimem-lat4"):
        (tmp_path / name).write_text(text)
    for name, meant in (("mine.txt", "unimem-bw2"), ("unimem-lat4", "unimem-lat4")):
        assert called("machine", name, folder=tmp_path).stdout.startswith(f"Machine {meant}\n")
    (tmp_path / "nums.txt").write_text("1 2 3\n")
    done = called("simulate", "--machine", "nums.txt", "--", "true", folder=tmp_path)
    assert done.returncode == 2 and "nums.txt" in done.stderr and "there is no machine" not in done.stderr


def test_other_damaged_files_are_failures(tmp_path):
    """A truncated recording, journal and DHAT file."""
    words = (*MACHINE, "-q", "--misses", "x.misses", "-o", "x.terrace", "--keep-journals", "--", "true")
    kept = run(*words, verb="simulate", cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert kept.returncode == 0, kept.stderr
    (journal,) = tmp_path.glob("terrace-*/*.journal")
    cut = {
        "replay": (tmp_path / "x.misses").read_bytes()[:60],
        "lab sweep": (tmp_path / "x.misses").read_bytes()[:60],
        "merge": journal.read_bytes()[:40],
        "import": b'{"dhatFileVersion":2,"mode":"heap",',
    }
    for verb, content in cut.items():
        (tmp_path / "cut").write_bytes(content)
        assert status(verb, "cut", *READING[verb], folder=tmp_path) == 1, verb


@pytest.mark.parametrize(("verb", "option"), [(verb, option) for verb in WRITTEN for option in WRITTEN[verb]])
def test_invalid_user_files_are_wrong_calls(verb, option, tmp_path):
    (tmp_path / "bad.toml").write_text("no = [toml\n")
    (tmp_path / "other.toml").write_text('[project]\nname = "x"\n')
    beside = () if option == "--machine" else MACHINE
    for file in ("none.toml", "bad.toml", "other.toml"):
        words = (*beside, option, tmp_path / file, "--", "touch", "was-run")
        assert status(verb, *words, folder=tmp_path) == 2, file
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("verb", ["run", "simulate"])
def test_refused_plan_has_its_status(verb, tmp_path):
    (tmp_path / "p.toml").write_text(
        'schema = 2\nphases = ["x"]\n[[object]]\nname = "a"\nplace = "no such place"\n'
    )
    assert status(verb, *MACHINE, "--plan", "p.toml", "--", "touch", "was-run", folder=tmp_path) == 2
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("verb", each(LAUNCHING))
def test_unstartable_program_has_the_shells_status(verb, tmp_path):
    (tmp_path / "text").write_text("echo no\n")
    for program, expected in (("./none", 127), ("no-such-program", 127), ("./text", 126), (".", 126)):
        if (verb, program) == ("lab trace", "."):
            continue
        words = (*LAUNCHING[verb], "--", program)
        assert status(verb, *words, folder=tmp_path) == expected, program


@pytest.mark.parametrize("verb", each(PASSING))
def test_programs_own_status_is_returned(verb, tmp_path):
    for script, expected in (("exit 0", (0,)), ("exit 7", (7,)), ("exit 126", (126,)), ("kill -9 $$", (-9, 137))):
        done = called(verb, *LAUNCHING[verb], "--", "sh", "-c", script, folder=tmp_path)
        assert done.returncode in expected, script


def test_page_lists_all_statuses():
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert rows == ["exit status", "---", "0", "1", "2", "126", "127", "130", "the program's own"]
