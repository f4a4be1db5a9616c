"""The criterion of reported gains, on iterations of synthetic journals, among them some that it must reject."""

from __future__ import annotations

import sqlite3
import statistics

import pytest
from programs_lines import proof

PLAN, DONE = 40.0, 43.5  # when the plan comes, and when its moves are done


def journal(*, undone=False, again=False, replanned=None):
    """Eighty iterations of 1 s, the first of 2 s; half as long once the plan's moves are done. Where it is undone,
    or in force again after that, three iterations without it take 0.3 s."""
    store = sqlite3.connect(":memory:")
    store.executescript(
        """
        CREATE TABLE proof(run, loop, unplaced, placed, iterations_unplaced, iterations_placed, undone);
        CREATE TABLE phase_instance(run, loop, iteration, phase, begun, ended);
        CREATE TABLE plan(run, at);
        CREATE TABLE move(run, asked, done);
        CREATE TABLE note(run, at, text);
        """
    )
    at, number, times = 0.0, 0, []
    while number < 80:
        in_force = at >= DONE
        time = 2.0 if number == 0 else 0.5 + number / 1e4 if in_force else 1.0 + number / 1e4
        if (undone or again) and 70 <= number < 73:
            time = 0.3 + number / 1e4
        times.append((at, time))
        half = at + time / 2
        store.execute("INSERT INTO phase_instance VALUES (1, 0, ?, 0, ?, ?)", (number, at, half))
        store.execute("INSERT INTO phase_instance VALUES (1, 0, ?, 1, ?, ?)", (number, half, at + time))
        at, number = at + time, number + 1
    store.execute("INSERT INTO plan VALUES (1, ?)", (PLAN,))
    store.execute("INSERT INTO move VALUES (1, ?, ?)", (PLAN + 0.001, DONE))
    if replanned is not None:
        store.execute("INSERT INTO plan VALUES (1, ?)", (times[replanned][0] - 1e-6,))
    first = next(number for number, (begun, _) in enumerate(times) if begun >= DONE)
    without = range(1, sum(begun + time <= PLAN for begun, time in times))
    with_it = range(first if replanned is None else replanned, 79)
    if undone or again:
        what = "the plan is undone: 40.0 % longer" if undone else "the plan is in force again: as long"
        store.execute("INSERT INTO note VALUES (1, ?, ?)", (times[73][0], what))
        without = range(70, 73)
        with_it = [i for i in with_it if i < 70]
    near = (without[-proof.KEPT :], with_it[-proof.KEPT :] if undone or again else with_it[: proof.KEPT])
    medians = (statistics.median([times[number][1] for number in numbers]) for numbers in near)
    row = (*medians, len(without), len(with_it), undone)
    store.execute("INSERT INTO proof VALUES (1, 0, ?, ?, ?, ?, ?)", row)
    return store


def line(gain):
    word = "gained" if gain >= 0 else "lost"
    digits = 0 if abs(gain) >= 0.0995 else 1
    return f"terrace: {word} {100 * abs(gain):.{digits}f} % (predicted 40 %): 1ms in 2 iterations with the plan"


@pytest.mark.parametrize("kind", [{}, {"undone": True}, {"again": True}, {"replanned": 55}])
def test_proof_consistent_gain_is_accepted(kind):
    found = list(proof.proofs(journal(**kind)))
    (one,) = found
    assert one.gain_by_iterations == pytest.approx(one.gain)
    text = line(one.gain)
    if kind.get("undone"):
        text = text.replace("terrace: lost", "terrace: undone, as it lost")
    assert proof.wrong(found, ["terrace: 80 iterations", text]) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE proof SET placed = placed * 0.9", "an iteration with the plan"),
        ("UPDATE proof SET unplaced = unplaced * 1.2", "an iteration without the plan"),
        ("UPDATE proof SET iterations_unplaced = 3", "3 iterations without the plan, by the journal"),
        ("UPDATE proof SET iterations_placed = iterations_placed + 1", "by the journal"),
        ("DELETE FROM plan", "by the journal 0"),
        ("UPDATE phase_instance SET ended = ended + 0.2 WHERE iteration > 50", "an iteration with the plan"),
    ],
)
def test_proof_other_iterations_are_rejected(change, told):
    store = journal()
    store.execute(change)
    found = list(proof.proofs(store))
    assert told in "\n".join(proof.wrong(found, [line(found[0].gain)]))


@pytest.mark.parametrize("capped", [False, True])
def test_proof_takes_adjacent_iterations(capped):
    """A program that becomes slower, or faster, for reasons of its own gains nothing by that."""
    store = journal()
    if capped:
        store.execute("UPDATE proof SET iterations_unplaced = 16, iterations_placed = 16")
    store.execute("UPDATE phase_instance SET ended = ended + 3 WHERE iteration > 65 OR iteration < 20")
    found = list(proof.proofs(store))
    assert proof.wrong(found, [line(found[0].gain)]) == []


@pytest.mark.parametrize(("undone", "placed"), [(False, 5.0), (True, 5.0), (False, 1.1), (False, 0.9)])
def test_proof_equal_times_are_no_gain(undone, placed):
    store = journal(undone=undone)
    store.execute("UPDATE phase_instance SET ended = begun + 0.15")
    store.execute("UPDATE proof SET unplaced = 0.3, placed = 0.3 * ?", (placed,))
    found = list(proof.proofs(store))
    assert found[0].gain_by_iterations == pytest.approx(0)
    assert "an iteration with the plan" in "\n".join(proof.wrong(found, [line(1 - placed)]))


def test_proof_interference_may_reduce_a_gain():
    store = journal()
    store.execute("UPDATE proof SET placed = 0.9 * unplaced")
    found = list(proof.proofs(store))
    assert proof.wrong(found, [line(0.1)]) == []


def test_proof_clear_gain_reported_as_noise_is_rejected():
    found = list(proof.proofs(journal()))
    said = ["terrace: no gain beyond noise (predicted 40 %): 1ms in 2 iterations with the plan"]
    assert proof.wrong(found, said) == ["said noise, by the journal +49.6%"]


def test_proof_noise_is_accepted():
    store = journal()
    # Iterations without the plan take now as long as before, now as long as with it.
    store.execute("UPDATE phase_instance SET ended = begun WHERE phase = 1 AND iteration < 40 AND iteration % 2")
    found = list(proof.proofs(store))
    said = ["terrace: no gain beyond noise (predicted 40 %): 1ms in 2 iterations with the plan"]
    assert not any("noise" in one for one in proof.wrong(found, said))


def test_proof_gain_reported_as_loss_is_rejected():
    store = journal()
    store.execute("UPDATE proof SET placed = 1.2 * unplaced")
    found = list(proof.proofs(store))
    told = "\n".join(proof.wrong(found, [line(-0.2)]))
    assert "said -20.0%, by the journal +49" in told
    assert "an iteration with the plan" in told


def test_proof_sign_within_noise_is_accepted():
    store = journal()
    store.execute("UPDATE phase_instance SET ended = begun + 0.5 + (iteration % 5) * 0.1 + (begun > 43.5) * 0.02")
    found = list(proof.proofs(store))
    assert found[0].noise > 0.1
    assert not any("noise" in one for one in proof.wrong(found, [line(0.04)]))


def test_proof_undone_plan_without_note_is_rejected():
    store = journal(undone=True)
    store.execute("DELETE FROM note")
    found = list(proof.proofs(store))
    assert found[0].gain_by_iterations is None
    assert "by the journal 0" in "\n".join(proof.wrong(found, [line(found[0].gain)]))


@pytest.mark.parametrize("off", [-0.02, 0.02])
def test_proof_closing_line_equals_the_gain(off):
    found = list(proof.proofs(journal()))
    assert "in the journal's proof" in proof.wrong(found, [line(found[0].gain + off)])[0]
    assert proof.wrong(found, ["terrace: 80 iterations"]) == ["nothing is said of a gain"]


def test_said_gain_has_its_sign():
    assert proof.said_gain(["terrace: gained 17 % (predicted 19 %): 1ms"]) == pytest.approx(0.17)
    assert proof.said_gain(["terrace: lost 3.2 % (predicted 19 %): 1ms"]) == pytest.approx(-0.032)
    assert proof.said_gain(["terrace: undone, as it lost 12 %: 1ms"]) == pytest.approx(-0.12)
    assert proof.said_gain([]) is None


def test_bounds_uncounted_iterations_widen_the_median():
    times = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert proof.bounds(times, 5) == (3, 3)
    assert proof.bounds(times, 3) == (2, 4)
    assert proof.bounds(times, 1) == (1, 5)
