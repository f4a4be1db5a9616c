"""Subcommands as commands: exit status, one line per error, plain text into pipes."""

import json
import re
import resource
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("show",), 2, "FILE.terrace"),
        (("show", "nowhere.terrace"), 2, "nowhere.terrace"),
        (("show", "FILE", "--process", "1"), 2, "no process 1"),
        (("show", "FILE", "--what"), 2, "--what"),
        (("plan", "FILE", "--fast", "12 parsecs"), 2, "12 parsecs"),
        (("plan", "FILE", "--fast", "1TiB"), 2, "64MiB"),
        (("plan", "FILE", "--budget", "hbm=1MiB"), 2, "hbm"),
        (("plan", "FILE", "--fast", "1MiB", "--budget", "dram=1MiB"), 2, "--fast"),
        (("plan", "FILE", "--planner", "oracle-of-delphi"), 2, "oracle-of-delphi"),
        (("plan", "FILE", "--machine", "no-such-machine"), 2, "no-such-machine"),
        (("plan", "FILE", "--sweep", "fast"), 2, "KIND=LOW:HIGH"),
        (("plan", "FILE", "--sweep", "fast=2MiB:1MiB"), 2, "smaller"),
        (("export", "FILE", "--format", "papyrus"), 2, "papyrus"),
        (("export", "FILE", "--format", "csv", "--table", "chairs"), 2, "chairs"),
        (("report", "FILE", "-o", "/nowhere/at/all.html"), 2, "/nowhere/at/all.html"),
        (("plan", "FILE", "--fast", "8MiB", "-o", "/nowhere/at/all.toml"), 2, "/nowhere/at/all.toml"),
        (("lab",), 2, "--help"),
        (("dance",), 2, "dance"),
    ],
)
def test_errors_are_one_line_with_a_status(terrace, store_path, words, status, says):
    done = terrace(*(store_path if word == "FILE" else word for word in words))
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("terrace: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr


@pytest.mark.parametrize(
    "words",
    [("show",), ("plan", "--fast", "8MiB"), ("plan", "--sweep", "fast=8MiB:16MiB"), ("bounds", "--fast", "8MiB")],
)
def test_json_states_its_schema(terrace, store_path, words):
    done = terrace(words[0], store_path, *words[1:], "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["schema"] == 1


@pytest.mark.parametrize("words", [("show",), ("plan", "--fast", "8MiB"), ("bounds", "--fast", "8MiB")])
def test_pipes_get_plain_text(terrace, store_path, words):
    done = terrace(words[0], store_path, *words[1:])
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert not re.search("[\u2500-\u257f]", done.stdout)  # no box drawing
    assert "…" not in done.stdout  # nothing cut to a width


def test_closed_pipe_ends_silently(store_path):
    command = f"'{sys.executable}' -P -m terrace export '{store_path}' --format csv --table cell | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    columns = "iteration,phase,chunk,read_lines,write_lines,exposure,samples,line_squares"
    assert done.stdout == columns + ",streamed_lines,streamed_exposure\n"
    assert done.stderr == ""


def no_room(words):
    """Runs `terrace SUBCOMMAND ...` where files cannot exceed a kilobyte, as on a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    command = [sys.executable, "-P", "-m", "terrace", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=limit)


@pytest.mark.parametrize("words", [("report",), ("plan", "--fast", "8MiB")])
def test_full_disk_is_reported_and_leaves_nothing(store_path, tmp_path, words):
    output = tmp_path / "output"
    done = no_room([words[0], store_path, *words[1:], "-o", output])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"terrace: {output}: cannot be written: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_report_replaces_earlier_report_but_no_link(terrace, store_path, tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("a user's own")
    link.symlink_to(page)
    assert terrace("report", store_path, "-o", link).returncode == 2
    assert page.read_text() == "a user's own"
    page.unlink()
    assert terrace("report", store_path, "-o", page).returncode == 0
    page.write_text(page.read_text() + "<!-- earlier -->")
    assert terrace("report", store_path, "-o", link).returncode == 0
    assert link.is_symlink()
    assert page.read_text().startswith("<!")
    assert "<!-- earlier -->" not in page.read_text()
    assert sorted(tmp_path.iterdir()) == [link, page]


@pytest.mark.parametrize(
    "words", [("show",), ("plan", "--fast", "8MiB"), ("export", "--format", "csv", "--table", "cell")]
)
def test_damaged_profile_is_one_line(terrace, store_path, tmp_path, words):
    """All but the first page is overwritten: the file is still recognised as a profile."""
    damaged = tmp_path / "damaged.terrace"
    whole = store_path.read_bytes()
    damaged.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    done = terrace(words[0], damaged, *words[1:])
    assert done.returncode == 1
    assert done.stderr.startswith(f"terrace: {damaged} is damaged: record the program again (")
    assert done.stderr.count("\n") == 1
