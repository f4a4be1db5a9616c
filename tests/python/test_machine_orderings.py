"""`terrace machine orderings` on shipped, written and saved machines, and after wrong calls."""

import json
import os
import subprocess

import pytest
from conftest import BUILD, ROOT

SAVED = ROOT / "tests" / "unit" / "machine" / "topologies"


def machine(*words, **environment):
    command = [BUILD / "src" / "cli" / "terrace", "machine", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


def orderings(*words, **environment):
    """Returns the places by rank, for each initiator and intent."""
    done = machine("orderings", "--json", *words, **environment)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["schema"] == 1
    return {
        (one["initiator"], one["intent"]): [[place["place"] for place in rank] for rank in one["ranks"]]
        for one in said["orderings"]
    }


def test_shipped_machine_has_orderings():
    found = orderings("-m", "knl-7210-flat")
    assert found["cores", "bandwidth"] == [["mcdram"], ["ddr4"]]
    assert (
        found["cores", "latency"]
        == found["cores", "capacity"]
        == found["cores", "normal"]
        == [["ddr4"], ["mcdram"]]
    )
    text = machine("orderings", "--machine", "knl-7210-flat").stdout
    assert machine("orderings", "knl-7210-flat").stdout == text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 115


def test_users_ordering_is_listed(tmp_path):
    shipped = (ROOT / "machines" / "knl-7210-flat.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(
        shipped
        + '\n[[ordering]]\nintent = "scratch"\nplaces = [["ddr4", "mcdram"]]\n'
        + '\n[[ordering]]\nintent = "latency"\nplaces = ["hbm"]\n'
    )
    found = orderings("-m", str(file))
    assert found["cores", "scratch"] == [["ddr4", "mcdram"]]
    assert found["cores", "latency"] == [["mcdram"], ["ddr4"]]
    text = machine("orderings", "-m", str(file)).stdout
    assert "ddr4 = mcdram" in text
    assert "stated in the machine file" in text

    file.write_text(shipped + '\n[[ordering]]\nintent = "scratch"\nplaces = ["dd4"]\n')
    done = machine("orderings", "-m", str(file))
    assert done.returncode == 2
    line = shipped.count("\n") + 4
    why = "ordering.places: there is no place and no kind 'dd4'; did you mean 'ddr4'?"
    assert done.stderr == f"terrace: {file}:{line}: {why}\n"


def test_saved_hwloc_machine_has_orderings():
    found = orderings(HWLOC_XMLFILE=str(SAVED / "mi300a-4.xml"))
    assert found["cores2", "normal"] == [["hbm2"], ["hbm0", "hbm1", "hbm3"]]


def test_this_machine_lists_every_place_once():
    for ranks in orderings().values():
        places = [place for rank in ranks for place in rank]
        assert len(set(places)) == len(places) > 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("orderings", "-m", "no-such-machine"), 2, "no-such-machine"),
        (("orderings", "--quick"), 2, "--quick and --output belong to terrace machine measure"),
        (("no-such-machine",), 2, "no-such-machine"),
        (("orderings", "knl-7210-flat", "-m", "ddr5-nvme"), 2, "is given twice; give it once"),
        (("check", "knl-7210-flat"), 2, "unexpected machine 'knl-7210-flat': only terrace machine orderings"),
        (("check", "-m", "knl-7210-flat"), 2, "unexpected machine 'knl-7210-flat': only terrace machine"),
    ],
)
def test_errors_are_one_line_with_a_status(words, status, says):
    done = machine(*words)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr.startswith("terrace: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
