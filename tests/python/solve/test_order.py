"""Order of places by speed: Python's equals the machine's, for each machine file."""

import json

import pytest
from terrace import _core
from terrace.errors import TerraceError, core_errors
from terrace.solve.linear import fastest_first
from terrace.solve.optimum import _Common


def orders(machine):
    """Returns the order by domain, from the machine."""
    found = []
    try:
        while True:
            found.append(machine.fastest_first(len(found)))
    except IndexError:
        return found


@pytest.fixture(scope="module")
def profile(store_path):
    store = _core.Store(str(store_path))
    return store.profile(store.runs()[0].id, False)


@pytest.mark.parametrize("name", _core.shipped_machines())
def test_problem_has_the_machines_order(name, profile):
    machine = _core.Machine.read(name)
    assert sorted(place for order in orders(machine) for place in order) == list(range(len(machine.places)))
    problem = _core.Problem(profile, machine)
    dump = json.loads(problem.to_json())
    rank = _Common(dump).rank
    for domain, order in enumerate(orders(machine)):
        assert fastest_first(dump, domain) == order
        assert sorted(order, key=lambda place: rank[place]) == order
    assert json.loads(_core.Problem.from_dump(dump).to_json()) == dump


@pytest.mark.parametrize("orders", [[], [[0]], [[0, 0]], [[0, 1, 2]], [[0, 1], [1]]])
def test_invalid_order_is_refused(orders, profile):
    dump = json.loads(_core.Problem(profile, _core.Machine.read("knl-7210-flat")).to_json())
    with pytest.raises(TerraceError, match="do not fit together"), core_errors():
        _core.Problem.from_dump({**dump, "fastest_first": orders})
