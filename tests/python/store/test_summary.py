"""Phases by name: grouping preserves totals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from terrace import _core
from terrace.store.reader import Store
from terrace.store.summary import by_name, groups, iteration_times, summarise_phases
from terrace.store.values import Profile, ProfiledPhase

NAMES = st.lists(st.sampled_from(["a", "a@65536", "a@131072", "b", "b@9", "c"]), min_size=1, max_size=30)


@given(NAMES)
def test_every_position_is_in_one_group(names):
    together = groups(names)
    assert sorted(p for positions in together.values() for p in positions) == list(range(len(names)))
    assert all("@" not in name for name in together)


def test_sums_are_preserved():
    names = ["init", "matvec", "matvec@65536", "update", "matvec", "matvec@65536"]
    phases = [ProfiledPhase(name, 1.0 + i, 0.5, 10.0, 2.0, 0.25) for i, name in enumerate(names)]
    matrix = np.arange(12, dtype=float).reshape(2, 6)
    merged = by_name(Profile(False, 1, phases, [], matrix, 2 * matrix, matrix, matrix))
    assert [phase.name for phase in merged.phases] == ["init", "matvec", "update"]
    assert merged.phases[1].time == 2 + 3 + 5 + 6
    assert merged.phases[1].samples == 40
    np.testing.assert_array_equal(merged.reads, [[0, 1 + 2 + 4 + 5, 3], [6, 7 + 8 + 10 + 11, 9]])
    assert merged.writes.sum() == 2 * matrix.sum()


def test_labels_distinguish_positions():
    names = ["init", "matvec", "matvec@65536", "update", "matvec", "matvec@65536", "update"]
    labels = _core.segment_labels(names)
    assert labels == [
        "init",
        "matvec 1",
        "matvec 1, 50 %",
        "update 1",
        "matvec 2",
        "matvec 2, 50 %",
        "update 2",
    ]
    assert len(set(labels)) == len(names)


_LIKE_LABELS = ["a", "a 1", "a 50 %", "a@9", "a@10", "a@20", "a 1, 50 %", "b@1000000"]


@given(st.lists(st.sampled_from(_LIKE_LABELS), max_size=30))
def test_labels_are_unique(names):
    labels = _core.segment_labels(names)
    assert len(set(labels)) == len(labels) == len(names)


def test_shares_have_enough_digits():
    labels = _core.segment_labels(["a", "a@1", "a@1000", "a@2000", "b"])
    assert labels == ["a", "a 0.04 %", "a 37.50 %", "a 75.00 %", "b"]


def test_phases_sum_to_iterations(store_path):
    store = Store(store_path)
    run = store.run(4001)
    by_phase = np.array([phase.times for phase in summarise_phases(store, run)])
    np.testing.assert_allclose(by_phase.sum(axis=0), iteration_times(store, run))
    assert sum(phase.waited for phase in summarise_phases(store, run)) == pytest.approx(5 * 0.04e-3)
