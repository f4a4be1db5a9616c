"""Checks runs on two memory domains with three kinds of memory each: budgets by place, and no chunk outside its
program's domain. A criterion of acceptance/main-job.

The launcher gives a program one domain, so each is the program's in turn. Live runs learn and move by themselves;
planned ones obey a plan from an earlier profile. In another run a plan by hand asks for the other domain's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from harness import TERRACE, Criterion, Measured, fresh, run, workload
from terrace import _core
from terrace.lab import study

from main_job_lines.account import Audit

MACHINE = "hbm-ddr-cxl-2domains"
CACHES = ["--cache", "l2=64KiB", "--cache", "l3=60KiB"]  # class S is small: the machine's own would hold all of it
# Bytes by place: each domain has its own, so that a run by the other one's would be seen.
CORES = ("1", "all")  # with all of them bandwidth counts, and the planner wants the fastest kind
BUDGETS = (
    {"hbm0": 200 << 10, "ddr0": 300 << 10, "hbm1": 150 << 10, "ddr1": 400 << 10},
    {"hbm0": 64 << 10, "ddr0": 128 << 10, "hbm1": 96 << 10, "ddr1": 64 << 10},
)
ITERATIONS = {"cg": 30, "mg": 60}  # enough to learn, plan, and run by the plan


@dataclass
class AuditTotals:
    """Sums over all audits."""

    runs: int = 0
    moved: int = 0
    refused: int = 0
    fullest: float = 0.0  # of all places' budgets
    kinds: frozenset[str] = frozenset()
    strangers: int = 0  # runs with a chunk outside the domain
    over: int = 0  # places above their budget
    problems: tuple[str, ...] = ()


def audit(audited: Audit, domain: int, budget: dict[str, int], seen: AuditTotals) -> AuditTotals:
    """Replays a run's store, and adds to the totals what was over a budget or in another domain."""
    account = audited.run()
    names = {identity: name for identity, (name, _, _) in audited.places.items()}
    full = {
        names[place]: most / budget[names[place]] for place, most in account.most.items() if names[place] in budget
    }
    kinds = {audited.places[place][1] for place, most in account.most.items() if most > 0}
    return replace(
        seen,
        runs=seen.runs + 1,
        moved=seen.moved + account.moves,
        refused=seen.refused + account.refused,
        fullest=max(seen.fullest, *full.values()),
        kinds=seen.kinds | kinds,
        strangers=seen.strangers + (account.domains != {domain}),
        over=seen.over + sum(share > 1 for share in full.values()),
        problems=(*seen.problems, *account.problems),
    )


def words(budget: dict[str, int]) -> str:
    return ",".join(f"{place}={size}" for place, size in budget.items())


def audited_runs(name: str, domain: int, folder: Path, seen: AuditTotals) -> AuditTotals:
    """Audits live and planned runs of one workload with each budget."""
    program: list[str | Path] = [workload(name, True), "--class", "S"]
    for number, (budget, cores) in enumerate(product(BUDGETS, CORES)):
        common = ["--quiet", "--machine", MACHINE, "--domain", str(domain), "--cores", cores, *CACHES]
        profile = folder / f"{name}{domain}-{number}.terrace"
        run([TERRACE, "record", *common, "-o", profile, "--", *program])
        kept = _core.Store(str(profile))
        identity = kept.runs()[0].id
        machine = kept.machine(identity)
        problem = _core.Problem(kept.profile(identity), machine, machine.budget(words(budget)))
        plan = folder / f"{name}{domain}-{number}.toml"
        _core.plan(problem, "auto", kept.calibration(identity)).write(str(plan))
        ways: dict[str, list[str | Path]] = {"live": [], "planned": ["--plan", plan]}
        for way, options in ways.items():
            store = folder / f"{name}{domain}-{number}-{way}.terrace"
            simulate = [TERRACE, "simulate", *common, "--budget", words(budget), *options, "-o", store]
            run([*simulate, "--", *program, "--iterations", str(ITERATIONS[name])])
            if way == "planned":
                study.check_follows_plan(store)
            seen = audit(Audit(store), domain, budget, seen)
    return seen


def keeps_to_its_domain(folder: Path, domain: int) -> tuple[bool, str]:
    """Runs a manual plan that places all data in the other domain's memory: no data may move, and a message must
    say so."""
    plan = folder / "elsewhere.toml"
    plan.write_text(f'schema = 1\n[[object]]\nname = "*"\nplace = "hbm{1 - domain}"\n')
    store = folder / f"elsewhere{domain}.terrace"
    common = ["--quiet", "--machine", MACHINE, "--domain", str(domain)]
    simulate: list[str | Path] = [TERRACE, "simulate", *common, "--plan", plan]
    run([*simulate, "-o", store, "--", workload("mg", True), "--class", "S"])
    study.check_follows_plan(store)
    audited = Audit(store)
    told = [note for note in audited.notes if f"hbm{1 - domain}" in note]
    return audited.run().domains == {domain} and bool(told), told[0] if told else "nothing was said"


def measure() -> Measured:
    """Runs CG and MG from each domain with several budgets, and audits every run."""
    folder = fresh("domains")
    seen = AuditTotals()
    for name in ITERATIONS:
        for domain in (0, 1):
            seen = audited_runs(name, domain, folder, seen)
    stayed = [keeps_to_its_domain(folder, domain) for domain in (0, 1)]
    lines = [
        f"{seen.runs} runs of CG and MG, class S, from each domain with two budgets, one core and all, live and "
        f"planned: {seen.moved} moves of chunks replayed, kinds used: {', '.join(sorted(seen.kinds))}",
        f"{seen.over} places above their budget at any instant, the fullest at {seen.fullest:.1%}; "
        f"{seen.refused} moves refused; {seen.strangers} runs with a chunk outside the domain",
        f"a plan for the other domain's memory: stayed {sum(ok for ok, _ in stayed)} of {len(stayed)} times; "
        f'"{stayed[0][1]}"',
    ]
    lines += [f"problem: {text}" for text in seen.problems[:5]]
    holds = (
        seen.over == 0
        and seen.strangers == 0
        and not seen.problems
        and seen.moved > 0
        and seen.kinds == {"hbm", "ddr", "cxl"}
        and all(ok for ok, _ in stayed)
    )
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion(
        "2 domains and 3 kinds",
        "budgets kept by kind and domain at every instant, transfers in flight on both places; no chunk leaves "
        "its domain",
        measure,
    )
]
