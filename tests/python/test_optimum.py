"""The linear program and the exact one, on random problems: each bounds what it should."""

import sys
from pathlib import Path

import pytest
from terrace import _core, certificate
from terrace.certificate import merged, whole_phases
from terrace.errors import TerraceError
from terrace.optimum import executable_optimum, linear_bound

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "acceptance"))

from planning_lines.instances import instance

ROUNDED = 1 + 1e-7  # the solver's tolerance


def cut(dump):
    """The problem with every second phase as a segment of the one before it."""
    phases = [
        {**phase, "name": phase["name"] if n % 2 == 0 else f"{dump['phases'][n - 1]['name']}@1"}
        for n, phase in enumerate(dump["phases"])
    ]
    return {**dump, "phases": phases}


@pytest.mark.parametrize("seed", range(40))
def test_whole_phases_bound_their_segments(seed):
    dump = cut(instance(seed))
    whole = whole_phases(dump)
    assert len(whole["phases"]) == -(-len(dump["phases"]) // 2)
    assert linear_bound(whole) <= linear_bound(dump) * ROUNDED


def all_of_one_phase(dump):
    """The problem with every phase as a segment of the first."""
    phases = [{**phase, "name": "p" if n == 0 else f"p@{n * 4096}"} for n, phase in enumerate(dump["phases"])]
    return {**dump, "phases": phases}


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_shorter_parts_prove_more(seed, monkeypatch):
    dump = all_of_one_phase(instance(seed))
    last = 0.0
    for most in range(1, len(dump["phases"]) + 1):
        monkeypatch.setattr(certificate, "_LARGEST", most * len(dump["items"]))
        parts = merged(dump, certificate._parts(dump))
        assert len(parts["phases"]) <= most
        assert sum(phase["core"] for phase in parts["phases"]) == pytest.approx(
            sum(phase["core"] for phase in dump["phases"])
        )
        bound = linear_bound(parts)
        assert bound <= linear_bound(dump) * ROUNDED
        if most in (1, len(dump["phases"])):  # parts that are no parts of one another prove neither more nor less
            assert bound >= last / ROUNDED
            last = bound
    assert parts["phases"] == dump["phases"]


def test_parts_that_are_not_solved_in_time_prove_nothing_more(monkeypatch):
    dump = all_of_one_phase(instance(3))
    stretch = certificate.Stretch(1, whole_phases(dump), dump)
    budget = [place["budget"] for place in dump["places"]]
    whole = linear_bound(whole_phases(dump))
    assert certificate._bound(stretch, budget) >= whole / ROUNDED

    def slow(problem, _limit):
        if len(problem["phases"]) > 1:
            raise TerraceError("the solver found no placement: Time limit reached")
        return linear_bound(problem)

    monkeypatch.setattr(certificate, "linear_bound", slow)
    assert certificate._bound(stretch, budget) == whole


# Read at one time and written at another: an item may lie in two places in one phase.
def test_a_move_in_the_middle_of_a_phase_divides_its_traffic_unevenly():
    dump = instance(0)
    dump["items"] = dump["items"][:1]
    size = dump["items"][0]["size"]
    for place in dump["places"]:
        place["budget"] = 2 * size
    # Fast memory reads faster and writes more slowly, and copies cost next to nothing.
    fast, slow = dump["places"]
    fast.update(read_bandwidth=2e9, write_bandwidth=1e9, latency=0.0)
    slow.update(read_bandwidth=1e9, write_bandwidth=2e9, latency=0.0)
    dump["copy"] = [[0, 1e18], [1e18, 0]]
    quiet = {"core": 0.0, "measured": 1e-3, "unexplained": 0.0, "samples": 1}
    traffic = 1e3 * size
    whole = {**dump["phases"][0], **quiet, "name": "all", "cells": [[0, traffic, traffic, 0.0, 1]]}
    reads = {**whole, "name": "all", "cells": [[0, traffic, 0.0, 0.0, 1]]}
    writes = {**whole, "name": "all@1", "cells": [[0, 0.0, traffic, 0.0, 1]]}
    at_best = traffic / (2e9 + 1e9)  # both memories beside one another, in both segments
    segments = linear_bound({**dump, "phases": [reads, writes]})
    assert segments >= 2 * at_best / ROUNDED
    assert linear_bound({**dump, "phases": [whole]}) <= segments * ROUNDED


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_below_the_optimum_and_prices_below_the_program(seed):
    dump = instance(seed)
    program = linear_bound(dump)
    assert program <= executable_optimum(dump).seconds * ROUNDED
    assert _core.Problem.from_dump(dump).lower_bound() <= program * ROUNDED
