"""Compares a plan's estimate of the cost of sampling error with its cost by exact counts of the same iteration. A
criterion of acceptance/planning."""

from __future__ import annotations

from harness import Criterion, Measured, workloads
from terrace import _core
from terrace.solve.confidence import DRAWS

from planning_lines.common import recorded

MACHINE = "unimem-lat4"
SHARE = 0.15  # of the footprint, fast
HELD = 0.9  # of the cases: what an interval of 90 % promises
ITEMS = 1 << 20  # a problem's items, at most: objects are not merged


def _case(name: str) -> tuple[bool, str]:
    """Returns whether the stated interval contains the real cost, and both."""
    stored = _core.Store(str(recorded(name)[MACHINE]))
    run = stored.runs()[0].id
    machine, calibration = stored.machine(run), stored.calibration(run)
    sampled, exact = (stored.profile(run, exact).only(0) for exact in (False, True))
    budget = machine.fast_budget(int(SHARE * sampled.footprint))
    estimate, truth = (_core.Problem(profile, machine, budget, True, ITEMS) for profile in (sampled, exact))
    sure = _core.sure_plan(estimate, "auto", calibration, DRAWS)
    _, low, high = sure.plan.regret
    real = _core.regret_under(estimate, truth, sure.decision, "auto", calibration)
    shares = [f"{seconds / sure.plan.predicted:.2%}" for seconds in (real, low, high)]
    return low <= real <= high, f"{name}: {shares[0]} of an iteration, stated {shares[1]} to {shares[2]}"


def intervals() -> Measured:
    """Judges one case for each workload, so that all weigh the same."""
    cases = [_case(name) for name in workloads()]
    held = sum(fine for fine, _ in cases)
    lines = [f"{held} of {len(cases)} real costs are in the stated interval", *(text for _, text in cases)]
    return Measured("\n".join(lines), held >= HELD * len(cases))


CRITERIA = [
    Criterion(
        "confidence",
        f"the stated 90 % interval of sampling error's cost holds the real cost of {HELD:.0%} of the workloads",
        intervals,
    )
]
