"""`terrace run --machine`: files of other machines are refused before the program starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE, refused, run

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import CONDITIONS, RestrictedError

SAME_NODE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
NODES = sorted(int(node.name.removeprefix("node")) for node in Path("/sys/devices/system/node").glob("node[0-9]*"))


def changed(folder: Path, before: str, after: str) -> Path:
    """The machine of two kinds on one node, with the first of such words changed."""
    text = SAME_NODE.read_text(encoding="utf-8")
    assert before in text
    (folder / "other.toml").write_text(text.replace(before, after, 1), encoding="utf-8")
    return folder / "other.toml"


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--profile",), ("--intent", "bandwidth")])
def test_simulated_machine_is_refused(options, tmp_path):
    said = refused(run("--machine", "unimem-bw2", *options, "--", "touch", "was-run", cwd=tmp_path))
    assert said == (
        "terrace: --machine unimem-bw2: none of its memories is in this machine; "
        "use terrace simulate --machine unimem-bw2\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_missing_node_is_named(tmp_path):
    machine = changed(tmp_path, "numa_node = 0", "numa_node = 99")
    said = refused(run("--machine", machine, "--fast", "64MiB", "--", "touch", "was-run", cwd=tmp_path))
    has = ("nodes " if len(NODES) > 1 else "node ") + ", ".join(map(str, NODES))
    assert said == f"terrace: --machine same-node: its place 'near' is node 99, and this machine has {has}\n"
    assert not (tmp_path / "was-run").exists()


def test_place_without_node_is_named(tmp_path):
    machine = changed(tmp_path, "numa_node = 0", "")
    said = refused(run("--machine", machine, "--", "true", cwd=tmp_path))
    assert "its memory 'near' is not in this machine" in said


def test_unknown_nodes_are_accepted(tmp_path):
    """Without /sys."""
    words = [TERRACE, "run", "--machine", SAME_NODE, "--fast", "64MiB", "--", "touch", "was-run"]
    try:
        command = CONDITIONS["no /sys"](tmp_path, [str(word) for word in words])
    except RestrictedError as why:
        pytest.skip(str(why))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "was-run").exists()


def test_nodes_of_this_machine_are_accepted(tmp_path):
    done = run("--machine", SAME_NODE, "--fast", "64MiB", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_more_cores_than_the_machine_has_are_refused():
    words = ("simulate", "--machine", "unimem-lat4", "--cores", "99", "--", "true")
    done = subprocess.run([TERRACE, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "terrace: --cores 99: unimem-lat4 has 8 cores; give at most that, or all\n"
