"""The linear and the exact program on random problems: each bound holds."""

import math
import random
import sys
from pathlib import Path

import pytest
from terrace import _core
from terrace.errors import TerraceError, core_errors
from terrace.solve.certificate import merged, parts, whole_phases
from terrace.solve.linear import in_sequence, linear_bound, prices
from terrace.solve.optimum import executable_optimum

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "acceptance"))

from planning_lines.instances import instance

ROUNDED = 1 + 1e-7  # the solver's tolerance


def seeds(begin, end, at_once):
    """Seeds of random problems: `make test` tries so many, and `make soak` the others."""
    return [pytest.param(n, marks=[pytest.mark.soak] if n >= begin + at_once else []) for n in range(begin, end)]


def cut(dump):
    """Returns the problem with every second phase as a segment of the previous one."""
    phases = [
        {**phase, "name": phase["name"] if n % 2 == 0 else f"{dump['phases'][n - 1]['name']}@1"}
        for n, phase in enumerate(dump["phases"])
    ]
    return {**dump, "phases": phases}


@pytest.mark.parametrize("seed", seeds(0, 40, 12))
def test_whole_phases_bound_their_segments(seed):
    dump = cut(instance(seed))
    whole = whole_phases(dump)
    assert len(whole["phases"]) == -(-len(dump["phases"]) // 2)
    assert linear_bound(whole) <= linear_bound(dump) * ROUNDED


def all_of_one_phase(dump):
    """Returns the problem with every phase as a segment of the first."""
    phases = [{**phase, "name": "p" if n == 0 else f"p@{n * 4096}"} for n, phase in enumerate(dump["phases"])]
    return {**dump, "phases": phases}


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_parts_have_requested_number_and_preserve_totals(seed):
    dump = all_of_one_phase(instance(seed))
    phases = dump["phases"]
    for most in range(1, len(phases) + 1):
        begins = parts(dump, most * len(dump["items"]))
        assert begins[0] == 0
        assert len(begins) <= most
        of_parts = merged(phases, begins)
        assert [phase["name"] for phase in of_parts] == [phases[k]["name"] for k in begins]
        assert total(of_parts) == pytest.approx(total(phases))
        assert linear_bound({**dump, "phases": of_parts}) <= linear_bound(dump) * ROUNDED
    assert begins == list(range(len(phases)))
    assert of_parts == phases
    assert parts(cut(instance(seed)), 0) == list(range(0, len(phases), 2))


def total(phases):
    """Returns the quantities that merging must preserve: core time, and every counter."""
    return [math.fsum(phase["core"] for phase in phases)] + [
        math.fsum(cell[n] for phase in phases for cell in phase["cells"] if n < len(cell)) for n in range(1, 7)
    ]


# Read at one time and written at another: an item may lie in two places in one phase.
def test_move_within_a_phase_divides_traffic_unevenly():
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


@pytest.mark.parametrize("seed", seeds(0, 40, 12))
def test_bound_below_optimum_and_prices_below_program(seed):
    dump = instance(seed)
    program = linear_bound(dump)
    assert program <= executable_optimum(dump).seconds * ROUNDED
    problem = _core.Problem.from_dump(dump)
    assert problem.lower_bound() <= program * ROUNDED
    found = prices(dump)
    assert found.proven(problem) == pytest.approx(program, rel=2e-3)
    assert found.proven(problem) <= found.better(problem, program, 50).proven(problem)


def streamed(dump, seed):
    """Returns the problem with a share of reads prefetched, between none and all, and their exposed latency."""
    dice = random.Random(seed)
    phases = []
    for phase in dump["phases"]:
        cells = []
        for cell in phase["cells"]:
            share = dice.choice([0.0, 1.0, dice.random()])
            cells.append([*cell[:5], share * cell[1], share * cell[3] * dice.uniform(0.5, 1)])
        phases.append({**phase, "cells": cells})
    return {**dump, "phases": phases}


# Time and exposure of a prefetched line have one place: a bound that knows it proves no less, and what
# can be carried out, where all of an item has one place, is no faster.
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(10, 60, 10))])
def test_prefetched_lines_served_where_exposed(first):
    for seed in range(first, first + 10):
        apart = instance(seed)
        tied = streamed(apart, seed)
        bounds = [linear_bound(dump) for dump in (apart, tied)]
        assert bounds[0] <= bounds[1] * ROUNDED
        assert bounds[1] <= executable_optimum(tied).seconds * ROUNDED
        problem = _core.Problem.from_dump(tied)
        found = prices(tied)
        assert found.proven(problem) == pytest.approx(bounds[1], rel=2e-3)
        assert found.proven(problem) >= found.proven(_core.Problem.from_dump(apart)) / ROUNDED
        whole = whole_phases(cut(tied))  # merged phases keep what is prefetched
        assert total(whole["phases"]) == pytest.approx(total(tied["phases"]))


# One item is read for a second from either memory alone, and waits 0.6 s on fast or 2.4 s on slow memory.
# It moves for nothing, so apart both memories serve half of the lines while fast memory's latency counts; a
# prefetched line that slow memory serves waits for it: 0.6 y + 2.4 (1 - y) = y.
def test_prefetched_sweep_cannot_combine_both_bandwidths_with_short_latency():
    dump = instance(0)
    dump["items"] = dump["items"][:1]
    size = dump["items"][0]["size"]
    for place, latency in zip(dump["places"], (0.6e-6, 2.4e-6), strict=True):
        place.update(read_bandwidth=1e9, write_bandwidth=1e18, latency=latency, budget=2 * size)
    dump["items"][0]["size"] = 1  # byte: copies are free
    dump["copy"] = [[0, 1e18], [1e18, 0]]
    phase = {**dump["phases"][0], "core": 0.0, "measured": 1.0, "unexplained": 0.0}

    def bound(*prefetched):
        return linear_bound({**dump, "phases": [{**phase, "cells": [[0, 1e9, 0.0, 1e6, 1, *prefetched]]}]})

    assert bound() == pytest.approx(0.6)
    assert bound(0.0, 0.0) == pytest.approx(0.6)
    assert bound(1e9, 1e6) == pytest.approx(2.4 / 2.8)


def three_kinds(seed):
    """Two domains, with three and two kinds of memory; some items are pinned."""
    dice = random.Random(seed)
    dump = instance(seed)
    fast, slow = dump["places"]
    footprint = sum(item["size"] for item in dump["items"])
    middle = {
        **fast,
        "name": "middle",
        "latency": (fast["latency"] + slow["latency"]) / 2,
        "budget": footprint // 4,
    }
    near = {**fast, "name": "near", "domain": 1, "budget": footprint // 8}
    far = {**slow, "name": "far", "domain": 1}
    places = [fast, slow, middle, near, far]
    for item in dump["items"]:
        item["domain"] = dice.randint(0, 1)
        item["measured_at"] = 4 if item["domain"] else 1
        if dice.random() < 0.2:
            item["pinned"] = item["measured_at"]
    rate = dump["copy"][1][0]
    copy = [[0 if p == q else rate * (1 + 0.1 * q) for q in range(5)] for p in range(5)]
    return {**dump, "places": places, "copy": copy, "homes": [1, 4], "fastest_first": [[0, 2, 1], [3, 4]]}


@pytest.mark.parametrize("seed", seeds(0, 12, 6))
def test_bounds_of_several_kinds_and_domains(seed):
    dump = three_kinds(seed)
    dump["phases"] = dump["phases"][:4]
    dump["items"] = dump["items"][:6]
    for phase in dump["phases"]:
        phase["cells"] = [cell for cell in phase["cells"] if cell[0] < 6]
    program = linear_bound(dump)
    exact = executable_optimum(dump, 30)
    assert program <= exact.seconds * ROUNDED
    problem = _core.Problem.from_dump(dump)
    assert prices(dump).proven(problem) == pytest.approx(program, rel=2e-2)
    # With room for everything all lies in the fastest place, but for what is pinned: the same with one place.
    for place in dump["places"]:
        place["budget"] = 2**40
    stays = [[item.get("pinned", 3 * item["domain"]) for item in dump["items"]]]
    assert linear_bound(dump) <= _core.Problem.from_dump(dump).predict(stays).total * ROUNDED


def test_domain_with_one_place_has_no_choice():
    dump = instance(4)
    dump["places"] = dump["places"][1:]
    dump.update(copy=[[0]], homes=[0], fastest_first=[[0]])
    for item in dump["items"]:
        item["measured_at"] = 0
    everything = _core.Problem.from_dump(dump).predict([[0] * len(dump["items"])]).total
    assert linear_bound(dump) == pytest.approx(everything)
    assert prices(dump).proven(_core.Problem.from_dump(dump)) == pytest.approx(everything)


def test_infeasible_prices_still_prove_a_bound():
    dump = instance(5)
    for item in dump["items"]:
        item["pinned"] = 0  # all of it in fast memory, which has no space for it
    problem = _core.Problem.from_dump(dump)
    found = prices(dump)
    assert found.proven(problem) >= sum(phase["core"] for phase in dump["phases"]) / ROUNDED


# However poor they are; and of iterations one after the other, too.
@pytest.mark.parametrize("seed", seeds(40, 60, 8))
def test_any_prices_prove_a_bound(seed):
    dice = random.Random(seed)
    dump = instance(seed)
    best = executable_optimum(dump).seconds * ROUNDED
    problem = _core.Problem.from_dump(dump)
    in_turn = _core.Problem.in_sequence([problem] * 3)
    assert len(in_turn.phases) == 3 * len(dump["phases"])
    phases, places = len(dump["phases"]), len(dump["places"])
    for _ in range(20):
        row = [dice.choice([dice.uniform(-1, 5), 0.0, 1.0]) for _ in range(phases * (places + 2))]
        scale = dice.choice([0.0, 1e-12, 1e-10])
        capacity = [dice.uniform(-1, 1) * scale for _ in range(phases * places)]
        assert problem.bound_at(row, capacity) <= best
        assert in_turn.bound_at(row * 3, capacity * 3) <= 3 * best
    good = prices(dump)
    of_three = in_sequence([good] * 3)
    assert of_three.proven(in_turn) <= 3 * best
    # The initial amount of an iteration counts once, not three times.
    alone = _core.Problem.from_dump({**dump, "cyclic": False})
    assert of_three.proven(in_turn) >= 3 * good.proven(alone) / ROUNDED


def test_prices_of_another_problem_are_refused():
    problem = _core.Problem.from_dump(instance(1))
    with pytest.raises(TerraceError, match="prices of 1 rows and 2 capacities; this problem has"), core_errors():
        problem.bound_at([1.0], [1.0, 2.0])
    with pytest.raises(TerraceError, match="the same items and places"), core_errors():
        _core.Problem.in_sequence([problem, _core.Problem.from_dump(instance(2))])
    with pytest.raises(TerraceError, match="at least one iteration"), core_errors():
        _core.Problem.in_sequence([])


def test_solver_time_limit_is_reported():
    with pytest.raises(TerraceError, match="was not solved: Time limit"):
        linear_bound(instance(3), 0.0)
