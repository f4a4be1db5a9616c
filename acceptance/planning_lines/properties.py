"""Checks properties of every plan: budgets at every instant, conserved bytes, and time that never falls when a
place gets slower. Criteria of acceptance/planning."""

from __future__ import annotations

import functools
import random
import tomllib
from dataclasses import asdict, dataclass, field
from typing import Any

from harness import ROOT, Criterion, Measured, every_workload, fresh, keep_part, workload, workloads
from main_job_lines.account import Audit
from terrace import _core
from terrace.lab import study
from terrace.lab.study import Configuration

from planning_lines.common import CACHE, MACHINES

DECIDERS = ("auto", "unimem", "first-touch", "interleave", "weighted-interleave",
            "kernel-tiering", "memtis", "colloid", "alto")  # fmt: skip
SHARE = 4
PAIRS = 24  # machines, each with one of which a place is slower
SLACK = 1e-9  # of a run: sums are rounded


@dataclass
class AuditSums:
    """Sums over the stores of some runs."""

    runs: int = 0
    moves: int = 0
    over: int = 0  # their budget
    fullest: float = 0.0
    problems: list[str] = field(default_factory=list)


def instants() -> Measured:
    """Simulates every decider on every workload, one execution each, and audits each store from its beginning."""
    parts = [
        AuditSums(**keep_part(f"instants-{name}", functools.partial(_play, name, words)))
        for name, words in every_workload("small").items()
    ]
    runs, moves, over = (sum(getattr(part, what) for part in parts) for what in ("runs", "moves", "over"))
    problems = [text for part in parts for text in part.problems]
    text = (
        f"{runs} runs of {len(parts)} workloads, {moves} moves of chunks played: {over} over their budget, the "
        f"fullest at {max(part.fullest for part in parts):.1%}; {len(problems)} problems"
    )
    return Measured("\n".join([text, *problems[:5]]), over == 0 and not problems and moves > 0)


def _play(name: str, words: list[str]) -> dict[str, Any]:
    """Simulates a program under every strategy, and audits budgets, moves and conserved bytes."""
    folder, seen = fresh(f"instants-{name}"), AuditSums()
    command = [str(workload(name)), *words]
    fast = study.footprint(command, folder, name) // SHARE
    configurations = [Configuration(f"{m}-{who}", m, who, fast) for m in MACHINES for who in DECIDERS]
    outcomes, printed = study.simulate(command, configurations, folder, name, CACHE)
    if not workloads()[name].verified(printed):
        seen.problems.append(f"{name} did not verify")
    for label, outcome in outcomes.items():
        audited = Audit(outcome.store)
        account = audited.run()
        seen.problems += [f"{name}, {label}: {text}" for text in account.problems]
        held = max(most for place, most in account.most.items() if audited.places[place][0] == "dram")
        seen.runs, seen.moves = seen.runs + 1, seen.moves + account.moves
        seen.fullest = max(seen.fullest, held / fast)
        seen.over += held > fast
    return asdict(seen)


def _slower(text: str, dice: random.Random) -> tuple[str, str]:
    """Returns the machine file with one path slower, and a description of the change."""
    paths = tomllib.loads(text)["path"]
    path = dice.choice(paths)
    what = dice.choice(["read", "write", "latency"])
    begin = text.index("[[path]]", 0)
    for _ in range(paths.index(path)):
        begin = text.index("[[path]]", begin + 1)
    at = text.index(f"\n{what} = ", begin) + 1
    line = text[at : text.index("\n", at)]
    number = float("".join(c for c in line.split('"')[1] if c.isdigit() or c == "."))
    unit = line.split('"')[1].lstrip("0123456789.")
    factor = dice.uniform(1.01, 3)
    new = number * factor if what == "latency" else number / factor
    slower = text[:at] + f'{what} = "{new:.4f}{unit}"' + text[at + len(line) :]
    return slower, f"{path['place']}'s {what} x {factor:.2f}"


def monotone() -> Measured:
    """Simulates one plan with moves in every configuration of an execution. Where a place is slower the run must
    not be faster."""
    dice = random.Random(1)
    folder = fresh("monotone")
    command = [str(workload("mg")), *workloads()["mg"].words("small")]
    fast = study.footprint(command, folder, "mg") // SHARE
    study.record(command, ["unimem-lat4"], folder, "mg", CACHE)
    kept = _core.Store(str(folder / "mg.unimem-lat4.terrace"))
    run = kept.runs()[0].id
    machine = kept.machine(run)
    plan = folder / "plan.toml"
    made = _core.plan(_core.Problem(kept.profile(run), machine, machine.fast_budget(fast)), "auto")
    made.write(str(plan))
    configurations, pairs = [], []
    for number in range(PAIRS):
        text = (ROOT / "machines" / f"{MACHINES[number % 2]}.toml").read_text()
        for _ in range(dice.randint(0, 2)):  # not only from the machines that there are
            text, _ = _slower(text, dice)
        slower, what = _slower(text, dice)
        for label, content in (("before", text), ("after", slower)):
            file = folder / f"{number}-{label}.toml"
            file.write_text(content)
            configurations.append(Configuration(f"{number}-{label}", str(file), fast=fast, plan=plan))
        pairs.append(what)
    outcomes, _ = study.simulate(command, configurations, folder, "mg", CACHE)
    falls = []
    moved = 0
    for number, what in enumerate(pairs):
        before, after = (outcomes[f"{number}-{label}"] for label in ("before", "after"))
        moved += before.moves
        if after.loop < before.loop * (1 - SLACK):
            falls.append((1 - after.loop / before.loop, what))
    text = f"{PAIRS} pairs of machines, {len(made.moves)} moves an iteration: "
    text += f"{len(falls)} times faster where a place is slower"
    if falls:
        text += f"; by {max(falls)[0]:.3%} at most ({max(falls)[1]})"
    return Measured(text, not falls and moved > 0)


CRITERIA = [
    Criterion(
        "budgets and bytes",
        "no placement over its budget at any instant, transfers in flight on both places; what moves was where it "
        "came from",
        instants,
    ),
    Criterion("slower places", "for a fixed plan virtual time never falls when a place gets slower", monotone),
]
