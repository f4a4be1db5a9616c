"""Configurations of a simulated run: checks that a given plan was followed."""

import sqlite3

import pytest
from conftest import BUILD
from terrace import _core
from terrace.errors import TerraceError
from terrace.lab import study
from terrace.lab.study import Configuration
from terrace.store.reader import Store

MG = [str(BUILD / "tests" / "integration" / "hooked" / "mg"), "--class", "S"]
MACHINE, FAST = "unimem-lat4@ideal", 300 << 10  # so little data moves for its bytes alone
CACHE = ["--cache", "l2=16KiB", "--cache", "l3=60KiB"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Returns MG's plan, with moves, and its folder."""
    folder = tmp_path_factory.mktemp("study")
    study.record(MG, [MACHINE], folder, "mg", CACHE)
    kept = _core.Store(str(folder / f"mg.{MACHINE}.terrace"))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    problem = _core.Problem(kept.profile(run), machine, machine.fast_budget(FAST))
    made = _core.plan(problem, "auto", kept.calibration(run))
    assert made.moves
    made.write(str(folder / "plan.toml"))
    return folder / "plan.toml"


def test_check_follows_plan_accepts_given_plan(plan):
    """The run is long enough that a planner would have made another plan."""
    configurations = [
        Configuration("planned", MACHINE, fast=FAST, plan=plan),
        Configuration("live", MACHINE, fast=FAST),
    ]
    outcomes, _ = study.simulate([*MG, "--iterations", "20"], configurations, plan.parent, "run", CACHE)
    planned, live = (Store(outcomes[label].store) for label in ("planned", "live"))
    (obeyed,) = planned.plans(planned.run())
    given = _core.Plan.read(str(plan))
    assert (obeyed.at, obeyed.why) == (0.0, "given by --plan")
    assert len(obeyed.moves) == len(given.moves)
    assert [item.name for item in obeyed.objects] == [item["name"] for item in given.objects]
    assert len(live.plans(live.run())) > 0
    with pytest.raises(TerraceError, match="has the planner 'auto' and"):
        study.check_follows_plan(live.path)


def test_check_follows_plan_rejects_refined_plan(plan):
    store = plan.parent / "bettered.terrace"
    words = ["simulate", "-q", "-m", MACHINE, *CACHE, "--fast", FAST, "--plan", plan, "--refine-plan", "-o", store]
    study.run_terrace([*map(str, words), "--", *MG, "--iterations", "40"])  # planning takes most of twenty
    assert len(Store(store).plans(Store(store).run())) > 1
    with pytest.raises(TerraceError, match="should follow the given plan alone"):
        study.check_follows_plan(store)


def test_check_planner_accepts_only_its_runs(plan):
    """Journals of other configurations stand for mislabelled columns."""
    named = (*_core.planners(), *_core.policies())
    configurations = [Configuration(name, MACHINE, name, FAST) for name in named] + [
        Configuration("given", MACHINE, fast=FAST, plan=plan)
    ]
    outcomes, _ = study.simulate([*MG, "--iterations", "20"], configurations, plan.parent, "left", CACHE)
    for name in named:
        study.check_planner(outcomes[name].store, name)
    for path, planner in (("auto", "unimem"), ("unimem", "auto"), ("given", "auto"), ("given", "plan")):
        with pytest.raises(TerraceError, match=f"the planner '{planner}' should control the run"):
            study.check_planner(outcomes[path].store, planner)
    live = outcomes["auto"].store
    with sqlite3.connect(live) as database:  # a policy makes no plans
        database.execute("UPDATE run SET planner = 'memtis'")
    with pytest.raises(TerraceError, match="the planner 'memtis' should control the run"):
        study.check_planner(live, "memtis")
    with sqlite3.connect(live) as database:  # a planner makes one at least
        database.execute("UPDATE run SET planner = 'auto'")
    study.check_planner(live, "auto")
    with sqlite3.connect(live) as database:
        database.execute("DELETE FROM plan")
    with pytest.raises(TerraceError, match=r"has the planner 'auto' and 0 plan records \(none\)"):
        study.check_planner(live, "auto")
