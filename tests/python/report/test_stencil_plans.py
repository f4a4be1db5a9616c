"""Plans of stencil programs: consistency with the chain, and refusal of other files in one line."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, charts_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from terrace.errors import TerraceError
from terrace.report import stencil_facts, stencil_page, stencil_tables
from terrace.store import stencil_plans

PROGRAMS = BUILD / "workloads" / "stencils" / "terrace-stencils"
STREAMED = "executor=streamed,threads=1,memory=1MiB,tile=40x5"


def plans_of(folder, name, how, *arguments):
    """Returns the file that a program writes."""
    path = folder / f"{name}.plans"
    environment = os.environ | {"TERRACE_STENCIL": f"{how},plans={path}"}
    command = [PROGRAMS, name, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def cloverleaf(tmp_path_factory):
    """Returns plans of CloverLeaf 2D, streamed in small tiles."""
    folder = tmp_path_factory.mktemp("plans")
    return plans_of(folder, "cloverleaf2d", STREAMED, "problem=tp1", "cells=60x60", "steps=3", "summary=0")


@pytest.fixture(scope="module")
def three_dimensions(tmp_path_factory):
    """Returns plans of CloverLeaf 3D, in tiles."""
    folder = tmp_path_factory.mktemp("plans")
    how = "executor=tiled,threads=1,tile=0x6x5"
    return plans_of(folder, "cloverleaf3d", how, "problem=tp1", "cells=16x16x16", "steps=2", "summary=0")


def tile_of_each_point(chain, plan, d):
    """Returns by loop its points in a dimension with their tiles; each point is in one."""
    owners = []
    for number, loop in enumerate(chain.loops):
        tiles = {}
        for tile in range(plan.tiles[d]):
            for point in range(*stencil_facts.part(plan.cuts(loop, number, d), tile)):
                assert point not in tiles, f"a point of loop {number} is in two tiles"
                tiles[point] = tile
        assert sorted(tiles) == list(range(loop.range.begin[d], loop.range.end[d]))
        owners.append(tiles)
    return owners


def touched(loop, d):
    """Returns by argument the offsets that a loop's point accesses in a dimension, and whether it writes."""
    for argument in loop.arguments:
        if argument.reads:
            yield argument.dataset, argument.low[d], argument.high[d], False
        if argument.writes:
            yield argument.dataset, 0, 0, True


def bounds_of_tiles(chain, owners, d):
    """Returns by loop and point the first tile of a later loop with a conflicting access."""
    latest = {}  # by dataset, element and whether it is written: the first tile
    found = [{} for _ in chain.loops]
    for number in reversed(range(len(chain.loops))):
        loop = chain.loops[number]
        for point in owners[number]:
            tiles = [
                latest.get((dataset, point + offset, is_write), 1 << 30)
                for dataset, low, high, writes in touched(loop, d)
                for offset in range(low, high + 1)
                for is_write in ((False, True) if writes else (True,))
            ]
            found[number][point] = min(tiles, default=1 << 30)
        for point, tile in owners[number].items():
            for dataset, low, high, writes in touched(loop, d):
                for offset in range(low, high + 1):
                    key = dataset, point + offset, writes
                    latest[key] = min(latest.get(key, tile), tile)
    return found


def expect_tiles_as_the_chain_demands(chain, plan):
    """Checks that no point depends on a later tile, and that no part extends beyond its tile without need. The
    second check is limited to loops whose boundary loops are far: the plan assumes that those access all points
    before theirs, too. Returns the number of checked points.
    """
    looked_at = 0
    for d in (d for d in range(3) if plan.tiles[d] > 1):
        owners = tile_of_each_point(chain, plan, d)
        bounds = bounds_of_tiles(chain, owners, d)
        sign = -1 if plan.reversed[d] else 1
        first = plan.range.end[d] - 1 if plan.reversed[d] else plan.range.begin[d]
        for number, tiles in enumerate(owners):
            if not chain.loops[number].range.points:
                continue
            far = plan.size[d] + plan.skew[d] + 4
            inner = range(plan.range.begin[d] + far, plan.range.end[d] - far)
            for point, tile in tiles.items():
                bound = bounds[number][point]
                assert tile <= bound, f"loop {number}, point {point}"
                # Without need it would be in its own tile.
                own = min((point - first) * sign // plan.size[d], plan.tiles[d] - 1)
                if tile < own and point in inner:
                    looked_at += 1
                    ahead = {t for p, t in tiles.items() if (p - point) * sign > 0}
                    assert tile == bound or tile in ahead, f"loop {number} ends too far in tile {tile}: {point}"
    return looked_at


def largest_skew(chain, plan, d):
    """Returns the maximum number of points by which a part ends after its tile's end, or after the
    loop's begin.
    """
    sign = -1 if plan.reversed[d] else 1
    first = sign * (plan.range.end[d] if plan.reversed[d] else plan.range.begin[d])
    return max(
        (
            sign * cut - max(first + (tile + 1) * plan.size[d], sign * cuts[0])
            for number, loop in enumerate(chain.loops)
            if loop.range.points
            for cuts in [plan.cuts(loop, number, d)]
            for tile, cut in enumerate(cuts[1:-1])
        ),
        default=0,
    )


@pytest.mark.parametrize("which", ["cloverleaf", "three_dimensions"])
def test_tiles_respect_dependences(which, request):
    plans = stencil_plans.read(request.getfixturevalue(which))
    assert {len(chain.loops) for chain in plans.chains} & {156, 603}
    looked_at = 0
    for chain in plans.chains:
        assert sum(plan.runs for plan in chain.plans) == chain.runs
        for plan in chain.plans:
            looked_at += expect_tiles_as_the_chain_demands(chain, plan)
            assert plan.skew == tuple(largest_skew(chain, plan, d) for d in range(3))
    assert looked_at > 1000 or which != "cloverleaf"


def test_check_detects_wrong_tiles(cloverleaf):
    chain = max(stencil_plans.read(cloverleaf).chains, key=lambda chain: len(chain.loops))
    plan = chain.plans[0]
    changed = 0
    for number, runs in enumerate(plan.edges[1]):
        if chain.loops[number].range.length(1) < 50 or not runs[0][1]:
            continue
        for more in (-1, 1):
            wrong = copy.deepcopy(plan)
            wrong.edges[1][number] = [(many, ahead + more) for many, ahead in runs]
            with pytest.raises(AssertionError):
                expect_tiles_as_the_chain_demands(chain, wrong)
        changed += 1
        if changed == 5:
            break
    assert changed == 5


def test_steps_hold_chunks_from_first_to_last_use(cloverleaf):
    for chain in stencil_plans.read(cloverleaf).chains:
        for plan in chain.plans:
            stream, held = plan.stream, 0
            for step in stream.steps:
                held += step.needed + step.new
                assert step.held == held
                held -= step.written + step.dropped
            assert held == 0
            assert stream.most_chunks == max(step.held for step in stream.steps) <= stream.frames


def test_show_prints_loops_and_steps(terrace, cloverleaf):
    done = terrace("show", cloverleaf)
    assert done.returncode == 0, done.stderr
    plans = stencil_plans.read(cloverleaf)
    longest = max(plans.chains, key=lambda chain: chain.seconds)
    assert f"{len(longest.loops)} loops" in done.stdout
    assert re.search(r"^ *\d+ +equation of state +0\.\.60 x 0\.\.60 ", done.stdout, re.MULTILINE)
    everything = terrace("show", cloverleaf, "--all").stdout
    rows = re.findall(r"^ *(\d+)  \S", everything, re.MULTILINE)
    assert len(rows) >= sum(len(chain.loops) for chain in plans.chains)


def test_show_json_equals_text(terrace, cloverleaf):
    found = json.loads(terrace("show", cloverleaf, "--json", "--chain", 3).stdout)
    plans = stencil_plans.read(cloverleaf)
    (chain,) = found["chains"]
    assert chain["chain"] == 3
    plan = plans.chains[2].plans[0]
    for number, loop in enumerate(plans.chains[2].loops):
        assert chain["loops"][number]["name"] == loop.name
        assert chain["plans"][0]["cuts"][1][number] == plan.cuts(loop, number, 1)
    # As the statistics count them: each argument's element, twice where it is read and written.
    each = sum(a.reads + a.writes for a in plans.chains[2].loops[0].arguments)
    assert chain["loops"][0]["bytes"] == 8 * each * plans.chains[2].loops[0].range.points


@pytest.mark.parametrize(("which", "loops"), [("cloverleaf", 156), ("three_dimensions", 603)])
def test_picture_draws_each_tile_at_its_position(terrace, tmp_path, request, which, loops):
    path = request.getfixturevalue(which)
    done = terrace("report", path, "-o", tmp_path / "page.html", "--chain", 3)
    assert done.returncode == 0, done.stderr
    charts = charts_of((tmp_path / "page.html").read_text())
    chain = stencil_plans.read(path).chains[2]
    assert len(chain.loops) == loops
    plan = stencil_facts.main_plan(chain)
    d = stencil_facts.outer(chain, plan)
    assert set(charts) == {"tiles-3", "steps-3"} if plan.stream else {"tiles-3"}
    areas = [trace for trace in charts["tiles-3"]["data"] if trace.get("fill") and trace["xaxis"] == "x"]
    # The area of all bands is that of all loops' ranges.
    area = sum(abs(shoelace(ring)) for trace in areas for ring in rings(trace))
    assert area == pytest.approx(sum(loop.range.length(d) for loop in chain.loops if loop.range.points))


def rings(trace):
    """Returns the closed polygons of a trace."""
    points = list(zip(trace["x"], trace["y"], strict=True))
    for is_gap, group in itertools.groupby(points, lambda point: point[0] is None):
        if not is_gap:
            yield list(group)


def shoelace(ring):
    return sum(x * v - u * y for (x, y), (u, v) in zip(ring, ring[1:] + ring[:1], strict=True)) / 2


def test_other_executors_show_loops_only(terrace, tmp_path):
    path = plans_of(tmp_path, "jacobi", "executor=serial", "cells=16")
    done = terrace("show", path)
    assert "one after the other, without tiles" in done.stdout, done.stderr
    assert terrace("report", path).returncode == 0
    assert "without tiles" in path.with_suffix(".html").read_text()


def refusal(done, status):
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert re.fullmatch(r"terrace: .*\n", done.stderr), done.stderr
    return done.stderr


def test_wrong_calls_are_refused(terrace, cloverleaf, tmp_path, store_path):
    many = len(stencil_plans.read(cloverleaf).chains)
    assert f"has chains 1 to {many}; give one of them" in refusal(
        terrace("show", cloverleaf, "--chain", many + 1), 2
    )
    assert "not a profile" in refusal(terrace("show", cloverleaf, "--exact"), 2)
    assert "no stencil plans" in refusal(terrace("show", store_path, "--chain", 1), 2)
    assert "no stencil plans" in refusal(terrace("report", store_path, "--chain", 1), 2)
    (tmp_path / "mine.html").write_text("mine")
    assert "is not overwritten" in refusal(terrace("report", cloverleaf, "-o", tmp_path / "mine.html"), 2)
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_damaged_files_are_refused(terrace, cloverleaf, tmp_path):
    text = cloverleaf.read_text()
    path = tmp_path / "damaged.plans"
    path.write_text(text[: len(text) // 2])
    for verb in ("show", "report"):
        assert f"{path} is damaged" in refusal(terrace(verb, path), 1)
    path.write_text(text.replace('"schema":1', '"schema":7', 1))
    assert "of schema 7, this Terrace reads schema 1" in refusal(terrace("show", path), 2)
    path.write_text(text.replace('"access":"read"', '"access":"guess"', 1))
    assert ".access is not one of read, " in refusal(terrace("show", path), 1)
    document = json.loads(text)
    path.write_text(json.dumps(document | {"chains": []}, separators=(",", ":")))
    assert "no chain ran" in refusal(terrace("show", path), 2)


def test_empty_file_is_reported(terrace, tmp_path):
    path = tmp_path / "empty.plans"
    path.touch()
    for verb in ("show", "report"):
        assert f"{path} is empty: neither `terrace record` nor a stencil program" in refusal(
            terrace(verb, path), 2
        )


@pytest.mark.parametrize("layout", [{"indent": 2}, {"sort_keys": True}, {"indent": 1, "sort_keys": True}])
def test_reformatted_document_is_equivalent(terrace, cloverleaf, tmp_path, layout):
    path = tmp_path / "laid_out.plans"
    path.write_text("\n" + json.dumps(json.loads(cloverleaf.read_text()), **layout))
    assert terrace("show", path, "--json").stdout == terrace("show", cloverleaf, "--json").stdout
    path.write_text(path.read_text()[:-10])
    assert "damaged" in refusal(terrace("show", path), 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Returns a document to modify."""
    folder = tmp_path_factory.mktemp("plans")
    how = "executor=streamed,threads=1,memory=256KiB,tile=20x6"
    return plans_of(folder, "heat", how, "dims=2", "cells=40", "steps=4", "chain=2").read_text()


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-3, 9), st.floats(), st.text(max_size=4), st.just([]),
    st.just({}), st.lists(st.integers(-2, 70), max_size=3),
)  # fmt: skip


def places(value, at=()):
    """Yields each position in a document."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*at, key))


def expect_shown_or_refused(path):
    """Checks that an accepted document can be printed and drawn."""
    try:
        plans = stencil_plans.read(path)
        numbers = stencil_facts.chosen(path, plans, None, 2)
    except TerraceError:
        return False
    with Path(os.devnull).open("w") as nowhere:
        stencil_tables.print_plans(Console(file=nowhere), plans, numbers, everything=True)
    json.dumps(stencil_tables.document(plans, numbers))
    stencil_page.render(plans, numbers, "page")
    return True


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_modified_document_is_shown_or_refused(small, tmp_path, data):
    document = json.loads(small)
    for _ in range(data.draw(st.integers(1, 3))):
        *above, key = data.draw(st.sampled_from([place for place in places(document) if place]))
        parent = document
        for step in above:
            parent = parent[step]
        if data.draw(st.integers(0, 4)):
            parent[key] = data.draw(VALUES)
        else:
            del parent[key]
    path = tmp_path / "changed"
    path.write_text(json.dumps(document))
    expect_shown_or_refused(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=40), share=st.floats(0, 0.999))
def test_truncated_file_is_refused(small, tmp_path, raw, share):
    path = tmp_path / "cut"
    path.write_bytes(small.encode()[: int(share * len(small.encode()))] + raw)
    assert not expect_shown_or_refused(path)


def test_original_document_is_shown(small, tmp_path):
    (tmp_path / "whole").write_text(small)
    assert expect_shown_or_refused(tmp_path / "whole")
