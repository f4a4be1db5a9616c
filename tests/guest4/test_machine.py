"""Compares Terrace's machine with four nodes, one of them of non-volatile memory, with the kernel's figures."""

from __future__ import annotations

import pytest
from conftest import NODES
from vm import parse_nodes

pytestmark = pytest.mark.guest

MIB = 2**20
KINDS = {0: "ddr", 1: "ddr", 2: "hbm", 3: "hbm", 4: "nvm"}
DOMAIN = {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}  # of each node, and its processors' node

# From each initiator the nodes by rank. Bandwidth is what one core can stream: with 20 lines
# in flight it gets more of the other socket's fast memory, at 230 ns, than of ordinary memory of its own.
ORDERS = {
    ("four", 0): {
        "bandwidth": [2, 3, 0, 1],
        "latency": [0, 2, 1, 3],
        "capacity": [1, 0, 3, 2],
        "normal": [0, 2, 1, 3],
    },
    ("four", 1): {
        "bandwidth": [3, 2, 1, 0],
        "latency": [1, 3, 0, 2],
        "capacity": [1, 0, 3, 2],
        "normal": [1, 3, 0, 2],
    },
    ("nvm", 0): {
        "bandwidth": [2, 3, 0, 1, 4],
        "latency": [0, 2, 1, 3, 4],
        "capacity": [4, 1, 0, 3, 2],
        "normal": [0, 2, 4, 1, 3],
    },
    ("nvm", 1): {
        "bandwidth": [3, 2, 1, 0, 4],
        "latency": [1, 3, 0, 2, 4],
        "capacity": [4, 1, 0, 3, 2],
        "normal": [1, 3, 0, 2, 4],
    },
}
which = pytest.mark.parametrize("which", ["four", "nvm"])


@which
def test_guest_has_requested_nodes(guest, which):
    """The kernel shows the figures of HMAT that this machine was started with, of the nearest processors."""
    nodes = guest.nodes(f"nodes_{which}")
    wanted = parse_nodes(",".join(NODES))
    assert sorted(nodes) == list(range(4 if which == "four" else 5))
    for number, node in nodes.items():
        made = wanted[number]
        assert node.initiators == {DOMAIN[number]}
        assert node.figures["read_latency"] == made.latencies_ns[DOMAIN[number]]
        assert node.figures["read_bandwidth"] == made.bandwidths_mib[DOMAIN[number]]
        assert node.distances == list(made.distances[: len(nodes)])


@which
def test_places_domains_and_paths_equal_the_kernels(guest, which):
    nodes = guest.nodes(f"nodes_{which}")
    machine = guest.json(f"machine_{which}")
    places = {place["name"]: place for place in machine["places"]}
    assert {place["numa_node"]: place["kind"] for place in places.values()} == {at: KINDS[at] for at in nodes}
    assert {place["numa_node"]: place["capacity"] for place in places.values()} == {
        at: node.size for at, node in nodes.items()
    }
    assert {place["numa_node"]: place["domain"] for place in places.values()} == {
        at: f"domain{DOMAIN[at]}" for at in nodes
    }
    assert [domain["home"] for domain in machine["domains"]] == ["ddr0" if which == "four" else "nvm0", "ddr1"]
    paths = {(path["initiator"], places[path["place"]]["numa_node"]): path for path in machine["paths"]}
    assert sorted(paths) == sorted((f"cores{core}", at) for core in (0, 1) for at in nodes)
    for core in (0, 1):
        for at, node in nodes.items():
            path = paths[f"cores{core}", at]
            # The kernel has the nearest processors' figures alone; from others they are scaled by the distance.
            scale = nodes[core].distances[at] / nodes[DOMAIN[at]].distances[at]
            assert path["latency"] == pytest.approx(node.figures["read_latency"] * 1e-9 * scale)
            assert path["read"] == pytest.approx(node.figures["read_bandwidth"] * MIB / scale)
            assert path["write"] == pytest.approx(node.figures["write_bandwidth"] * MIB / scale)


@which
@pytest.mark.parametrize("core", [0, 1])
def test_orderings_rank_places_by_firmware_figures(guest, which, core):
    nodes = guest.nodes(f"nodes_{which}")
    orderings = {
        one["intent"]: one["ranks"]
        for one in guest.json(f"orderings_{which}")["orderings"]
        if one["initiator"] == f"cores{core}"
    }
    ranks = {
        intent: [[place["numa_node"] for place in rank] for rank in orderings[intent]] for intent in orderings
    }
    assert ranks == {intent: [[at] for at in order] for intent, order in ORDERS[which, core].items()}
    for rank in orderings["normal"]:
        for place in rank:
            assert place["value"] == nodes[core].distances[place["numa_node"]]
    for rank in orderings["capacity"]:
        for place in rank:
            assert place["value"] == nodes[place["numa_node"]].size
    for intent in ("bandwidth", "latency"):
        for rank in orderings[intent]:
            for place in rank:
                stated = DOMAIN[place["numa_node"]] == core
                assert place["source"] == ("firmware" if stated else "distance")


def test_non_volatile_memory_is_a_place_of_its_own_kind(guest):
    assert guest.text("online") == "4\n", guest.errors("online")
    machine = guest.json("machine_nvm")
    (nvm,) = [place for place in machine["places"] if place["kind"] == "nvm"]
    assert (nvm["name"], nvm["numa_node"]) == ("nvm0", 4)
    assert 4 not in [place["numa_node"] for place in guest.json("machine_four")["places"]]
    for one in guest.json("orderings_nvm")["orderings"]:
        if one["intent"] == "bandwidth":
            assert [place["place"] for place in one["ranks"][-1]] == ["nvm0"], "last by bandwidth"
