"""Bounds of loops from samples: selection of prices."""

import shutil
import sqlite3
from contextlib import closing
from typing import Any

from terrace.solve import lower_bounds
from terrace.solve.model import Model
from terrace.store.reader import Store


class _Misleading:
    """A problem whose cyclic iteration prefers prices that prove little for the loop."""

    def __init__(self, problem: Any, preferred: list[float]) -> None:
        self._problem, self._preferred = problem, preferred

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def bound_at(self, row: list[float], capacity: list[float]) -> float:
        return self._problem.bound_at(row, capacity) + 1e9 * (row == self._preferred)


def test_loop_bound_uses_the_best_prices(store_path, monkeypatch):
    store = Store(store_path)
    run = store.run()
    model = Model(store, run)
    budget = model.budget("24MiB")
    problem = model.problem(budget)
    row, capacity = problem.prices(model.decide(problem, "auto").prediction.total, 300)
    none = [0.0] * len(capacity)
    width = len(row) // len(problem.phases)
    on_copies = [float(i % width == width - 1) for i in range(len(row))]
    problem = _Misleading(problem, on_copies)
    bounds = []
    for candidates in ([(row, capacity), (on_copies, none)], [(on_copies, none), (row, capacity)]):
        named = [(*prices, f"prices {i}") for i, prices in enumerate(candidates)]
        monkeypatch.setattr(lower_bounds, "_candidates", lambda *_, named=named: named)
        bound = lower_bounds.sampled_bound(problem, 1.0, store, run, budget)
        bounds.append(bound.seconds)
        assert bound.means == f"prices {candidates.index((row, capacity))}"
    monkeypatch.setattr(lower_bounds, "_candidates", lambda *_: [(on_copies, none, "")])
    assert lower_bounds.sampled_bound(problem, 1.0, store, run, budget).seconds < bounds[0] == bounds[1]


def _with_more_iterations(store_path, path, more):
    """Copies a profile, and each observed iteration of its last process so many times."""
    shutil.copy(store_path, path)
    with closing(sqlite3.connect(path)) as database:
        for (iteration,) in database.execute("SELECT id FROM iteration WHERE NOT exact").fetchall():
            for number in range(1, more + 1):
                new = database.execute(
                    "INSERT INTO iteration (run, loop, number, exact, anew) "
                    "SELECT run, loop, number + ?, exact, 0 FROM iteration WHERE id = ?",
                    (number, iteration),
                ).lastrowid
                for table in ("phase", "cell"):
                    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
                    others = ", ".join(name for name in names if name != "iteration")
                    database.execute(
                        f"INSERT INTO {table} (iteration, {others}) "
                        f"SELECT ?, {others} FROM {table} WHERE iteration = ?",
                        (new, iteration),
                    )
        database.commit()


def test_many_observed_iterations_are_represented_by_some(store_path, tmp_path, monkeypatch):
    _with_more_iterations(store_path, tmp_path / "job.terrace", 4)
    store = Store(tmp_path / "job.terrace")
    run = store.run()
    whole = lower_bounds._observed(store, run, None)
    count = len(whole.numbers)
    assert count == 5
    assert whole.numbers == list(range(count))
    assert whole.weights == whole.profile.stand_for
    monkeypatch.setattr(lower_bounds, "_MAX_EVALUATED", 3)
    monkeypatch.setattr(lower_bounds, "_KNOWN", {})
    some = lower_bounds._observed(store, run, None)
    # Each stands for the part that it was drawn from.
    parts = ((0, 1), (1, 3), (3, 5))
    assert all(low <= number < high for number, (low, high) in zip(some.numbers, parts, strict=True))
    assert some.weights == [sum(whole.weights[low:high]) for low, high in parts]
