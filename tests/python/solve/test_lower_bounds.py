"""Bounds of loops from samples: selection of prices."""

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


def test_many_observed_iterations_are_represented_by_some(store_path, monkeypatch):
    store = Store(store_path)
    run = store.run()
    whole = lower_bounds._observed(store, run, None)
    count = len(whole.numbers)
    assert count > 2
    assert whole.numbers == list(range(count))
    assert whole.weights == whole.profile.stand_for
    monkeypatch.setattr(lower_bounds, "_MAX_EVALUATED", count - 1)
    monkeypatch.setattr(lower_bounds, "_KNOWN", {})
    some = lower_bounds._observed(store, run, None)
    assert len(some.numbers) == count - 1
    assert some.numbers[0] == 0
    assert sum(some.weights) == sum(whole.weights)
    # Each stands for itself and for those that are skipped behind it.
    ends = [*some.numbers[1:], count]
    assert some.weights == [sum(whole.weights[i:end]) for i, end in zip(some.numbers, ends, strict=True)]
