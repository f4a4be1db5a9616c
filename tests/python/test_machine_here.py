"""`terrace run --machine FILE` where FILE has a place that this machine has not."""

from __future__ import annotations

import pytest
from conftest import ROOT, refused, run

SAME_NODE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"


def elsewhere(folder, node: str):
    """The file whose second place is another node, or none."""
    before, found, after = SAME_NODE.read_text().rpartition("numa_node = 0\n")
    assert found
    file = folder / "elsewhere.toml"
    file.write_text(before + node + after)
    return file


@pytest.mark.parametrize(("node", "is_said"), [("numa_node = 300\n", "is node 300"), ("", "is no node")])
def test_it_is_refused_before_the_launch(node, is_said, tmp_path):
    machine = elsewhere(tmp_path, node)
    for options in ((), ("--fast", "64MiB"), ("--planner", "fast-only"), ("--profile",), ("--quiet",)):
        said = refused(run("--machine", machine, *options, "--", "touch", "was-run", cwd=tmp_path))
        assert f"--machine same-node: its place 'far' {is_said}, and this machine has node" in said
        assert said.endswith("; terrace simulate runs the program in virtual time on any machine\n")
    assert not (tmp_path / "was-run").exists()


def test_shipped_machines_are_for_virtual_time(tmp_path):
    assert "its place 'dram' is no node" in refused(run("--machine", "unimem-lat4", "--", "true", cwd=tmp_path))
    words = ("--machine", "unimem-lat4", "-q", "-o", "x.terrace", "--", "true")
    assert run(*words, verb="simulate", cwd=tmp_path).returncode == 0


def test_a_dry_run_says_it_and_goes_on(tmp_path):
    done = run("--dry-run", "--machine", elsewhere(tmp_path, "numa_node = 300\n"), "--", "true")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("would run: true\n")
    assert "note: --machine same-node: its place 'far' is node 300" in done.stdout
    assert done.stdout.endswith(": such a run is refused here\n")


def test_what_is_here_is_taken(tmp_path):
    assert run("--machine", SAME_NODE, "-q", "--", "sh", "-c", "exit 5", cwd=tmp_path).returncode == 5
    assert "note: --machine" not in run("--dry-run", "--machine", SAME_NODE, "--", "true").stdout


def test_terrace_off_has_no_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("TERRACE", "off")
    assert run("--machine", "unimem-lat4", "--", "sh", "-c", "exit 5", cwd=tmp_path).returncode == 5
