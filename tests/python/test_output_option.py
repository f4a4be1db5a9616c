"""--output is checked before the program runs, which may take hours."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess

import pytest
from conftest import TERRACE, run

NO_PROFILE = "a file is there that is no profile, and is not overwritten; name another"


@pytest.mark.parametrize("verb", ["run", "record", "simulate"])
@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("no/such.terrace", "there is no folder no"),
        ("here", "it is a folder; name a file in it"),
        ("here/", "it is a folder; name a file in it"),
        ("file/x.terrace", "there is no folder file"),
    ],
)
def test_unwritable_output_is_refused_before_the_run(verb, output, why, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "file").touch()
    machine = ("--machine", "unimem-lat4") if verb == "simulate" else ()
    done = run(*machine, "-o", output, "--", "touch", "was-run", verb=verb, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"terrace: --output {output}: {why}\n")
    assert not (tmp_path / "was-run").exists()


def test_unwritable_folder_is_refused(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("another user takes the superuser's rights")
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    words += [TERRACE, "run", "-o", tmp_path / "x.terrace", "--", "true"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, "HOME": "/"})
    assert done.returncode == 2
    assert done.stderr.startswith(f"terrace: --output {tmp_path}/x.terrace: no file can be made in {tmp_path}: ")


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_missing_default_folder_falls_back_to_tmpdir(options, tmp_path):
    """One line reports it before the run."""
    where = {**os.environ, "TERRACE_PROFILES": "/nowhere", "TMPDIR": str(tmp_path)}
    program = ("sh", "-c", "echo runs >&2")
    done = run(*options, "--", *program, verb="record", env=where)
    assert done.returncode == 0
    (profile,) = tmp_path.glob("*.terrace")
    assert is_profile_of(profile, "%/sh") or is_profile_of(profile, "%/dash")
    lines = done.stderr.splitlines()
    assert (
        lines[:2] == [f"terrace: there is no folder /nowhere: the profile goes to {tmp_path}", "runs"] or options
    )
    assert options == () or lines == ["runs"]


def is_profile_of(file, program: str) -> bool:
    with sqlite3.connect(file) as opened:
        return opened.execute("SELECT count(*) FROM run WHERE program LIKE ?", (program,)).fetchone() > (0,)


def test_without_request_no_folder_is_reported(tmp_path):
    done = run("--", "true", env={**os.environ, "TERRACE_PROFILES": "/nowhere", "TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")


def named(words: list[object], folder) -> list[str]:
    """Returns the profiles that exist after a run."""
    run(*words, "--", "true", verb="record", cwd=folder)
    return sorted(path.name for path in folder.glob("*.terrace"))


def is_profile(file) -> bool:
    with sqlite3.connect(file) as opened:
        return opened.execute("SELECT count(*) FROM run").fetchone() == (1,)


@pytest.mark.parametrize("verb", ["run", "record", "simulate"])
def test_other_file_is_not_overwritten(verb, tmp_path):
    machine = ("--machine", "unimem-lat4") if verb == "simulate" else ()
    database = tmp_path / "database.terrace"
    with sqlite3.connect(database) as other:
        other.execute("CREATE TABLE theirs(x)")
    (tmp_path / "text.terrace").write_text("a text of mine")
    for name in ("database.terrace", "text.terrace"):
        before = (tmp_path / name).read_bytes()
        done = run(*machine, "-o", name, "--", "touch", "was-run", verb=verb, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"terrace: --output {name}: {NO_PROFILE}\n")
        assert (tmp_path / name).read_bytes() == before
    done = run(*machine, "-o", "/dev/null", "--", "touch", "was-run", verb=verb, cwd=tmp_path)
    assert done.returncode == 2
    assert "it is no plain file" in done.stderr
    assert not (tmp_path / "was-run").exists()


def test_profile_empty_file_and_link_target_are_replaced(tmp_path):
    empty, linked, link, loose = (tmp_path / f"{name}.terrace" for name in ("empty", "linked", "link", "loose"))
    empty.touch()
    link.symlink_to(linked.name)
    loose.symlink_to("new.terrace")
    for name in (empty, link, loose, link, empty):
        assert run("-o", name, "--", "true", verb="record").returncode == 0
        assert is_profile(name)
    assert link.is_symlink() and loose.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "empty.terrace", "link.terrace", "linked.terrace", "loose.terrace", "new.terrace",
    ]  # fmt: skip


@pytest.mark.parametrize("is_there", [False, True])
def test_concurrent_launches_with_one_name_keep_all_profiles(is_there, tmp_path):
    """Like ranks of a job, each under its own launcher."""
    if is_there:
        run("-o", "x.terrace", "--", "true", verb="record", cwd=tmp_path)
    program = 'echo >>begun; until test "$(wc -l <begun)" -eq 3; do sleep 0.01; done'
    words = [TERRACE, "record", "--quiet", "-o", "x.terrace", "--", "sh", "-c", program]
    ranks = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) for _ in range(3)]
    said = "".join(rank.communicate(timeout=300)[1] for rank in ranks)
    names = [f"x{number}.terrace" for number in ("", "-2", "-3")]
    for name in names[1:]:
        assert f"terrace: x.terrace was written by another launch meanwhile: wrote {name}\n" in said
    assert sorted(path.name for path in tmp_path.glob("x*")) == sorted(names)
    processes = set()
    for name in names:
        with sqlite3.connect(tmp_path / name) as opened:
            processes |= set(opened.execute("SELECT process FROM run WHERE program LIKE '%sh'"))
    assert len(processes) == 3


def test_each_configuration_has_its_name(tmp_path):
    words = ["--machine", "unimem-lat4", "--config", "label=a", "--config", "label=b fast=1MiB", "-o", "x.terrace"]
    for _ in range(2):
        assert named(words, tmp_path) == ["x.a.terrace", "x.b.terrace"]
    (tmp_path / "x.b.terrace").write_text("mine")
    done = run(*words, "--", "touch", "was-run", verb="record", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"terrace: --output x.b.terrace: {NO_PROFILE}\n")
    assert not (tmp_path / "was-run").exists()


def test_failed_launch_keeps_existing_file(tmp_path):
    run("-o", "x.terrace", "--", "true", verb="record", cwd=tmp_path)
    before = (tmp_path / "x.terrace").read_bytes()
    assert run("-o", "x.terrace", "--", "no-such-program", verb="record", cwd=tmp_path).returncode == 127
    assert (tmp_path / "x.terrace").read_bytes() == before


def test_run_without_profile_reports_existing_file(tmp_path, lone_program):
    run("-o", "x.terrace", "--", "true", verb="record", cwd=tmp_path)
    said = run("-o", "x.terrace", "--", lone_program, verb="record", cwd=tmp_path).stderr
    assert said.endswith("terrace: x.terrace is of an earlier run: this one made no profile\n")
    (tmp_path / "x.terrace").unlink()
    assert "earlier" not in run("-o", "x.terrace", "--", lone_program, verb="record", cwd=tmp_path).stderr


@pytest.fixture
def lone_program(tmp_path):
    """Returns a program that cannot load the library."""
    (tmp_path / "lone.c").write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-static", "-o", "lone", "lone.c"], cwd=tmp_path, check=True)
    return tmp_path / "lone"


@pytest.mark.parametrize("verb", ["plan", "report", "export"])
def test_analysis_subcommands_replace_only_their_own_files(verb, store_path, terrace, tmp_path):
    ways = {
        "plan": [["--budget", "dram=1MiB", "--confidence", "0"]],
        "report": [[]],
        "export": [["-F", "csv"], ["-F", "json"], ["-F", "csv", "--table", "run"], ["-F", "perfetto"]],
    }
    out = tmp_path / "out"
    for _ in range(2):
        for options in ways[verb]:
            done = terrace(verb, store_path, "-o", out, *options)
            assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    whole = out.read_bytes()
    assert len(whole) > 100
    for content in (b"a text of mine\n", json.dumps([1]).encode(), store_path.read_bytes()):
        out.write_bytes(content)
        done = terrace(verb, store_path, "-o", out, *ways[verb][0])
        assert done.returncode == 2
        assert done.stderr == (
            f"terrace: --output {out}: a file is there that is no {verb}, and is not overwritten; name another\n"
        )
        assert out.read_bytes() == content
    for name, why in ((tmp_path, "it is a folder"), (tmp_path / "no" / "x", "there is no folder")):
        done = terrace(verb, store_path, "-o", name, *ways[verb][0])
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr


def test_export_to_its_own_profile_is_refused(store_path, terrace):
    before = store_path.read_bytes()
    assert terrace("export", store_path, "-o", store_path).returncode == 2
    assert store_path.read_bytes() == before


def test_machine_file_does_not_overwrite_other_files(terrace, tmp_path):
    (tmp_path / "x.toml").write_text("[project]\n")
    done = run("measure", "--quick", "-o", "x.toml", verb="machine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "this file exists and is not a machine file" in done.stderr
