"""Compares Terrace's reports on two nodes of real memory with the kernel's page locations."""

from __future__ import annotations

import itertools
import json
import os
import re
from dataclasses import replace

import accounts
import pytest
from accounts import FAR, NEAR
from audit import check_journal, check_plan, fine, most_on_node
from timed import check_timed_plan, first_difference, given_up, order_of

pytestmark = pytest.mark.guest
soak = pytest.mark.soak  # what only the whole suite runs


def later(*jobs):
    return [pytest.param(*(job if isinstance(job, tuple) else (job,)), marks=soak) for job in jobs]


# --- pages -------------------------------------------------------------------------------------------------------


def test_two_nodes_pages_lie_on_requested_nodes(guest):
    assert guest.status("two_nodes") == 0, guest.text("two_nodes")
    assert "SKIPPED" not in guest.text("two_nodes")


def test_kinds_of_memory_are_the_firmwares(guest):
    machine = json.loads(guest.text("machine"))
    assert [(place["kind"], place["numa_node"]) for place in machine["places"]] == [("ddr", NEAR), ("cxl", FAR)]
    near, far = machine["paths"]
    assert (near["read"], near["latency"]) == (16384 * 2**20, 100e-9)
    assert (far["read"], far["latency"]) == (2048 * 2**20, 400e-9)
    assert machine["domains"][0]["home"] == machine["places"][FAR]["name"]


def test_the_kernel_gives_huge_pages(guest):
    """Requires huge pages, which the kernel gives by default, for all other tests."""
    assert "[always]" in guest.text("huge_pages")


def test_page_watches_work_on_this_kernel(guest):
    """Page watches detect used pages; detection of written pages depends on the kernel."""
    said = guest.text("page_watches")
    assert guest.status("page_watches") == 0, said
    for watch in ("clearrefs", "softdirty"):
        assert f"[       OK ] PageWatches.TouchedPages_AreCounted/{watch}" in said


# --- allocation by intent ----------------------------------------------------------------------------------------


def test_ordered_fill_pages_lie_in_order(guest):
    """Intents, eagerly and at touch, in order and at random, and four processes at once."""
    assert guest.status("ordered") == 0, guest.text("ordered")
    filled = re.findall(
        r"^\[       OK \] All/EveryOrdering\S*/([a-z]+)_cores0_at_(once|touch)", guest.text("ordered"), re.M
    )
    if os.environ.get("TERRACE_SOAK"):
        intents = ("bandwidth", "latency", "capacity", "normal", "mine")
        assert sorted(filled) == sorted(itertools.product(intents, ("once", "touch")))
    else:
        assert filled == [("bandwidth", "touch")]
        assert guest.text("ordered").count("[       OK ] ") == 1 + 1
    assert "SKIPPED" not in guest.text("ordered")


def runs_of(text: str) -> list[tuple[int, int]]:
    """Reads nodes and pages from by_intent's last lines, run by run."""
    return [(int(node), int(pages)) for node, pages in re.findall(r"^node (-?\d+): (\d+)$", text, re.MULTILINE)]


MIB = 256  # pages


@pytest.mark.parametrize(
    ("job", "intent", "first"),
    [
        ("touch", "bandwidth", NEAR),
        *later(
            ("eager", "bandwidth", NEAR),
            ("mark", "bandwidth", NEAR),
            ("capacity", "capacity", FAR),
            ("mine", "mine", FAR),
        ),
    ],
)
def test_run_by_intent_fills_places_in_order(guest, job, intent, first):
    job = f"intent_{job}"
    assert guest.status(job) == 0, guest.errors(job)
    runs = runs_of(guest.text(job))
    assert [node for node, _ in runs] == ([NEAR, FAR] if first == NEAR else [FAR])
    assert sum(pages for _, pages in runs) == 160 * MIB
    (line,) = guest.errors(job).splitlines()
    assert f"160MiB of data by {intent}: " in line
    said = [float(size) for size in re.findall(r"([\d.]+)MiB in ", line)]
    places = sorted(runs)  # the line has the places in the machine's order
    assert said == pytest.approx([pages / MIB for _, pages in places], rel=0.01)


@soak
def test_larger_watermark_leaves_more_free(guest):
    (_, usual), _ = runs_of(guest.text("intent_touch"))
    (_, less), _ = runs_of(guest.text("intent_mark"))
    assert usual - less == pytest.approx(0.4 * 160 * MIB, rel=0.25), "0.4 of about 160 MiB that the kernel gives"


@pytest.mark.parametrize("job", later("apply", "alloc"))
def test_calls_by_intent_fill_in_order(guest, job):
    assert guest.status(f"intent_{job}") == 0, guest.text(f"intent_{job}")
    assert [node for node, _ in runs_of(guest.text(f"intent_{job}"))[-2:]] == [NEAR, FAR]
    assert job != "apply" or "apply: 0; " in guest.text("intent_apply")


def test_forked_child_continues_in_first_place(guest):
    assert guest.status("intent_fork") == 0, guest.text("intent_fork")
    assert "child: 0" in guest.text("intent_fork")
    assert {node for node, _ in runs_of(guest.text("intent_fork"))} == {NEAR}


def small_on(text: str) -> dict[int, int]:
    """Returns the small blocks by node."""
    return {
        int(node): int(blocks) for node, blocks in re.findall(r"^small on node (\d+): (\d+)$", text, re.MULTILINE)
    }


def test_small_blocks_of_runs_intent_first_16_mib_are_near(guest):
    text = guest.text("intent_small_run")
    assert guest.status("intent_small_run") == 0, text
    blocks = small_on(text)
    assert blocks[NEAR] / sum(blocks.values()) == pytest.approx(16 / 48, rel=0.1)
    assert f"unknown: {blocks[NEAR]}\n" in text


@soak
def test_small_blocks_of_threads_intent_fill_places_in_order(guest):
    text = guest.text("intent_small_thread")
    assert guest.status("intent_small_thread") == 0, text
    blocks = small_on(text)
    assert set(blocks) == {NEAR, FAR}
    assert blocks[NEAR] / sum(blocks.values()) > 0.3
    assert "unknown: 0\n" in text


# --- memkind's names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "job",
    [
        "far_preferred",
        *later("preferred", "run_bind", "both_interleave", "huge_bind", "bind", "bind_all", "interleave"),
        *later("run_preferred", "both_bind_all", "far_bind", "huge_preferred"),
    ],
)
def test_high_bandwidth_memory_pages_lie_on_policys_nodes(guest, job):
    job = f"hbw_{job}"
    assert guest.status(job) == 0, guest.text(job)
    assert guest.text(job).endswith("all right\n")
    if job.startswith("hbw_huge"):
        assert "huge pages: 10\n" in guest.text(job)


@soak
def test_memkind_names_blocks_are_charged_to_the_run(guest):
    (line,) = [line for line in guest.errors("hbw_run_bind").splitlines() if "hbw bind" in line]
    assert "MiB of data by hbw bind: " in line


# --- CG obeys its plan -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("job", "iterations", "moved"), [("cg_s", 15, 2), *later(("cg_w", 15, 6))])
def test_plan_pages_at_phase_starts_lie_on_planned_nodes(guest, job, iterations, moved):
    assert guest.status(job) == 0, guest.errors(job)
    run, samples = guest.run(job, "cg"), guest.samples(job)
    assert run.backend == "real"
    assert len(samples) == iterations * 53
    verdict = fine(check_plan(samples, run, guest.plans / f"{job}.toml", home="cxl"), samples, run)
    assert verdict.exact > 5 * verdict.either, "most of it was certain"
    both = [name for name, nodes in verdict.seen.items() if nodes == {NEAR, FAR}]
    assert len(both) >= moved, f"the kernel saw only {both} on both nodes"


@pytest.mark.parametrize("job", ["cg_s", *later("cg_w")])
def test_check_plan_disobeyed_plan_is_found(guest, job, tmp_path):
    text = (guest.plans / f"{job}.toml").read_text()
    last = text.rindex("[[segment]]")
    for number, other in enumerate([text[:last], text.replace('place = "ddr"', 'place = "cxl"', 1)]):
        plan = tmp_path / f"{number}.toml"
        plan.write_text(other)
        assert check_plan(guest.samples(job), guest.run(job, "cg"), plan, home="cxl").problems


@pytest.mark.parametrize("job", ["cg_s", "live", *later("cg_w")])
def test_journal_moves_equal_the_kernels(guest, job):
    run = guest.run(job, "cg")
    verdict = fine(check_journal(guest.samples(job), run), guest.samples(job), run)
    assert verdict.exact > verdict.either
    assert run.moves
    died = {one.id: one.died for one in run.objects}
    # Only what had not begun when the program freed its data.
    refused = [move for move in run.moves if move.refused]
    assert [move for move in refused if not move.begun == move.done <= (died[move.object] or 0)] == []
    sizes = {
        (one.id, chunk): one.range(chunk)[1] - one.range(chunk)[0]
        for one in run.objects
        for chunk in range(one.chunks)
    }
    for move in run.moves:
        assert move.asked <= move.begun <= move.done
        assert move.size in (0, sizes[move.object, move.chunk])
        assert (move.size == 0) == (move.source == move.target or move.refused), (
            "only what lay there already moved nothing"
        )


@pytest.mark.parametrize(("job", "budget"), [("cg_s", 700 << 10), ("live", 512 << 10), *later(("cg_w", 5 << 20))])
def test_near_memory_by_the_kernel_stays_within_budget(guest, job, budget):
    run = guest.run(job, "cg")
    most = most_on_node(guest.samples(job), run, NEAR)
    assert 0 < most <= budget


@pytest.mark.parametrize("job", ["cg_s", "live", *later("cg_w")])
def test_cg_verifies(guest, job):
    assert guest.status(job) == 0
    assert "Verification    =               SUCCESSFUL" in guest.text(job)


# --- plans that move data inside phases, followed without hooks --------------------------------------------------

# Seconds from when a move is due, and the one before it is done, to its beginning: an emulated machine's threads
# wait for a processor.
TOLERANCE = 0.25


STREAMS = later(
    *(("mg", "sentinel"), ("cg", "accesses"), ("cg", "timer"), ("mg", "timer")),
    *(("hydro", "timer"), ("hydro", "sentinel")),
)
streams = pytest.mark.parametrize(("name", "progress"), STREAMS)


# Measures time: the guest has the machine to itself only in the whole suite.
@soak
@streams
def test_plan_pages_inside_phases_lie_on_planned_nodes(guest, name, progress):
    job = f"stream_{name}_{progress}"
    assert guest.status(job) == 0, guest.errors(job)
    run, samples = guest.run(job, name), guest.samples(job)
    plan = guest.plans / f"{job}.toml"
    assert (
        len([one for one in plan.read_text().splitlines() if one.startswith("name") and one.endswith('%"')]) > 50
    )
    inside = [sample for sample in samples if sample.inside]
    assert len(inside) > 10
    verdict = fine(check_timed_plan(samples, run, plan, "cxl", TOLERANCE), samples, run)
    assert verdict.exact > verdict.either, "most of it was certain"
    assert sum(nodes == {NEAR, FAR} for nodes in verdict.seen.values()) >= 2, verdict.seen
    assert (verdict.watched > 10) == (progress != "timer"), "chunks were seen put aside"
    fine(check_journal(samples, run), samples, run)
    assert "no access was seen" in " ".join(run.notes), "the program has no hooks"


@soak
@streams
def test_check_timed_plan_disobeyed_plan_is_found(guest, name, progress, tmp_path):
    job = f"stream_{name}_{progress}"
    text = (guest.plans / f"{job}.toml").read_text()
    plan = tmp_path / "other.toml"
    # Other times, or the same without a sentinel; another target.
    timed = re.sub(r"times = .*? }", "times = [] }", text).replace("segments = [", "segments = [1, ")
    for other in (re.sub(r"begins_with = .*\n", "", timed), text.replace('to = "ddr"', 'to = "cxl"', 1)):
        plan.write_text(other)
        verdict = check_timed_plan(guest.samples(job), guest.run(job, name), plan, "cxl", TOLERANCE)
        assert verdict.problems


@streams
def test_plan_on_both_backends_moves_in_equal_order(guest, name, progress):
    real = guest.run(f"stream_{name}_{progress}", name)
    virtual = accounts.read_run(guest.plans / f"virtual_{name}_{progress}.terrace", name)
    assert (real.backend, virtual.backend) == ("real", "virtual")
    for iteration in range(3):
        assert len(order_of(real, iteration)) + given_up(real, iteration).total() > 100
        assert first_difference(real, virtual, iteration) is None
        # Only in the last iteration is data freed that still had to move.
        assert iteration == 2 or not given_up(real, iteration) + given_up(virtual, iteration)


@soak
def test_first_difference_missing_or_other_moves_are_found(guest):
    virtual = accounts.read_run(guest.plans / "virtual_mg_sentinel.terrace", "mg")
    moves = [one for one in virtual.moves if one.iteration == 1]
    assert first_difference(virtual, virtual, 1) is None
    k = len(moves) // 2
    for made in (moves[:k] + moves[k + 1 :], [*moves[:k], moves[-1], *moves[k:-1]], moves[:-1]):
        assert first_difference(replace(virtual, moves=made), virtual, 1)
        assert first_difference(virtual, replace(virtual, moves=made), 1)


@soak
def test_plan_in_accesses_is_followed_by_sentinel_with_a_note(guest):
    sentence = "its segments begin by accesses, and a run on real memory counts no accesses"
    assert guest.errors("stream_cg_accesses").count(sentence) == 1
    assert sentence in " ".join(guest.run("stream_cg_accesses", "cg").notes)
    assert "they begin by sentinel here" in guest.errors("stream_cg_accesses")
    assert sentence not in guest.errors("stream_mg_timer")


# --- CG learns ---------------------------------------------------------------------------------------------------


def placed_as_touched(objects, run, near):
    """Returns the places by object and chunk: near memory in order while it has free space; stacks in far
    memory."""
    places, held = [], []
    for one in sorted(objects, key=lambda each: each.id):
        held = [(died, size) for died, size in held if died is None or died > one.born]
        room = near - sum(size for _, size in held)
        count = 0 if one.kind == "stack" else min(room // one.chunk_size, one.chunks)
        near_place, far_place = (place for node in (NEAR, FAR) for place, at in run.node_of.items() if at == node)
        places.append([near_place] * count + [far_place] * (one.chunks - count))
        held.append((one.died, min(count * one.chunk_size, one.size)))
    return places


def test_live_run_learns_in_first_iteration_then_moves(guest):
    run, samples = guest.run("live", "cg"), guest.samples("live")
    # An emulated machine's phases take any time, so that it may learn again; not every segment has a sentinel.
    usual = (
        "learned again",
        "the new plan is the old one",
        "plan: segments with which no chunk is touched for the first time begin by time",
        "the plan is ",  # undone, in force again: the same
        "what the plan gained is not known",
    )
    assert not [note for note in run.notes if not note.startswith(usual)]
    before = [one for one in run.objects if one.born < min(run.phases.values())]
    assert [one.places for one in before] == placed_as_touched(before, run, 512 << 10), (
        "it begins as the kernel does"
    )
    assert {move.iteration for move in run.moves} - {0}
    assert all(move.iteration > 0 for move in run.moves)
    came = {
        (one.id, chunk)
        for one in run.objects
        for chunk, place in enumerate(one.places)
        if run.node_of[place] == FAR
    }
    assert most_on_node(samples, run, NEAR, came) > 0, (
        "the kernel had data in near memory that began in far memory"
    )
    assert "15 iterations" in guest.errors("live")
