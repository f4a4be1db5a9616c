"""docs/reference/gpu-placement.md: its tables list every policy, every policy option, and every key of --json."""

import json
import re
import subprocess
import sys

from conftest import ROOT
from terrace import _core

PAGE = (ROOT / "docs" / "reference" / "gpu-placement.md").read_text(encoding="utf-8")


def first_column(head):
    """Returns the code words in a table's first column."""
    table = PAGE[PAGE.index(f"\n| {head} |") :].lstrip("\n").partition("\n\n")[0]
    return [word for row in table.splitlines()[2:] for word in re.findall("`([^`]+)`", row.split("|")[1])]


def lab_gpu(*words):
    line = [sys.executable, "-P", "-m", "terrace", "lab", "gpu", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=True).stdout


def test_page_lists_every_policy():
    assert sorted(first_column("policy")) == sorted(_core.gpu_policies())


def test_page_lists_every_option():
    options = {option.split()[0] for option in first_column("option")}
    assert options == {"--evict", "--reverse", "--memory", "--shootdown"}
    said = lab_gpu("--help")
    assert all(option in said for option in options)


def test_page_lists_every_key():
    found = json.loads(lab_gpu("pathfinder", "--size", "test", "--json"))
    assert set(found) - {"schema"} <= set(first_column("key"))
    for level in found["camat"]:
        assert f"`{level}`" in PAGE
