"""Judges the tables of `terrace lab experiment ccnuma`: the order of rules, the paper's statements on single
programs, and a rule of our own. Criteria of acceptance/gpu-placement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness import Criterion, Measured
from terrace.lab.experiment import ccnuma_iterations
from terrace.lab.experiment.ccnuma import COMBINED, OURS, THRESHOLDS, Rule, touch
from terrace.lab.experiment.ccnuma_beyond import placed_seconds
from terrace.lab.experiment.ccnuma_figures import ORACLE, REMOTE, speedup
from terrace.lab.experiment.ccnuma_page import PUBLISHED, copied_speedup
from terrace.lab.experiment.tables import geometric_mean

from gpu_placement_lines.common import study

# Published: the mean of all three rules, over copying before, and how far the oracle is above.
COMBINED_MEAN, OVER_COPY, OF_ORACLE = 1.95, 1.06, 1.28
NEAR = 0.10  # to the oracle
HIGH = (64, 128)


def _mean(rule: Rule, names: Sequence[str]) -> float:
    return geometric_mean([speedup(study(), name, rule) for name in names]) or 0.0


def _of_paper() -> list[str]:
    return [name for name in study().programs if name in PUBLISHED]


def _thresholds(shootdown: int) -> list[Rule]:
    """Returns the thresholds of the study."""
    rules = [touch(threshold, shootdown=shootdown) for threshold in THRESHOLDS]
    return [rule for rule in rules if rule in study().rules]


def _listed(name: str, rules: Sequence[Rule]) -> str:
    return ", ".join(f"{rule.threshold}: {speedup(study(), name, rule):.3f}x" for rule in rules)


def order() -> Measured:
    """Reports geometric means over the paper's programs, and over all of ours."""
    steps = dict(zip(("threshold 1", "+ range 128", "+ balancing"), COMBINED, strict=True)) | {"oracle": ORACLE}
    lines, holds = [], True
    for what, names in (("the paper's programs", _of_paper()), ("all programs", study().programs)):
        means = {"over the link": 1.0} | {step: _mean(rule, names) for step, rule in steps.items()}
        values = list(means.values())
        rises = all(a < b for a, b in pairwise(values[:-1])) and values[-2] <= values[-1]
        holds = holds and rises
        copied = geometric_mean([copied_speedup(study(), name) for name in names]) or 1.0
        lines.append(f"{what} ({len(names)}): " + ", ".join(f"{step} {mean:.3f}x" for step, mean in means.items()))
        lines.append(
            f"{what}: all three {means['+ balancing']:.2f}x (published {COMBINED_MEAN}x), "
            f"{means['+ balancing'] / copied:.2f}x of copying before ({OVER_COPY}x), the oracle "
            f"{means['oracle'] / means['+ balancing'] - 1:.0%} above ({OF_ORACLE - 1:.0%})"
        )
    lines += _longer()
    return Measured("\n".join(lines), holds, _by_program())


def _longer() -> list[str]:
    """Reports the speed-ups of the programs that iterate, whose iterations the study cuts."""
    longer = ccnuma_iterations.Iterations(study())
    if longer.missing():
        return []
    words = ("as cut", f"{ccnuma_iterations.TIMES} times as many", "each further one")
    rules = ("threshold 1", "and range 128", "and balancing", "oracle")
    means = [
        {rule: geometric_mean([longer.speed(name, rule)[i] for name in longer.plain]) or 0.0 for rule in rules}
        for i in range(len(words))
    ]
    return [
        f"iterations of {len(longer.plain)} programs, {word}: "
        + ", ".join(f"{rule} {mean:.3f}x" for rule, mean in at.items())
        for word, at in zip(words, means, strict=True)
    ]


def _by_program() -> list[dict[str, Any]]:
    """Describes each program's figures next to the paper's (its table II)."""
    rows = []
    for name in study().programs:
        rules = zip(("threshold_x", "range_x", "balancing_x", "oracle_x"), (*COMBINED, ORACLE), strict=True)
        row: dict[str, Any] = {"program": name}
        row |= {label: round(speedup(study(), name, rule), 3) for label, rule in rules}
        free, costly, ranged = (
            study().get(name, rule) for rule in (touch(1, shootdown=0), touch(1), touch(1, 128))
        )
        cost = costly["seconds"] / free["seconds"] - 1
        quiet = ranged["without_shootdown"] / max(ranged["moved_pages"], 1)
        ours = (cost, quiet, cost * quiet)
        said = [f"{share} %" for share in PUBLISHED[name]] if name in PUBLISHED else ["", "", ""]
        for what, own, theirs in zip(
            ("shootdowns cost", "moves without", "shootdown time saved"), ours, said, strict=True
        ):
            row |= {what: f"{own:.1%}", f"{what}, published": theirs}
        rows.append(row)
    return rows


def best_thresholds() -> Measured:
    """Counts the programs that are best at the threshold 1, with free shootdowns."""
    rules = _thresholds(shootdown=0)
    best = {name: max(rules, key=lambda rule: speedup(study(), name, rule)).threshold for name in study().programs}
    low = [name for name, threshold in best.items() if threshold == 1]
    others = ", ".join(f"{name} {threshold}" for name, threshold in best.items() if threshold != 1)
    text = f"1 is best for {len(low)} of {len(best)}: {', '.join(low)}; others: {others}"
    return Measured(text, 2 * len(low) > len(best))


def bfs() -> Measured:
    """Checks with free shootdowns that a higher threshold is better for bfs."""
    rules = _thresholds(shootdown=0)
    first, *higher = (speedup(study(), "bfs", rule) for rule in rules)
    return Measured(_listed("bfs", rules), max(higher) > first)


def minife() -> Measured:
    """Checks that MiniFE loses: it takes longer than over the link alone."""
    rules = _thresholds(shootdown=0)
    return Measured(_listed("minife", rules), speedup(study(), "minife", rules[0]) < 1)


def needle() -> Measured:
    """Checks with shootdowns of 100 cycles that migrating neighbours gains."""
    lines, holds = [], True
    for threshold in HIGH:
        alone, ranged = touch(threshold), touch(threshold, 128)
        if alone not in study().rules or ranged not in study().rules:
            continue
        without, with_range = (speedup(study(), "needle", rule) for rule in (alone, ranged))
        holds = holds and with_range > without
        lines.append(f"threshold {threshold}: {without:.3f}x, with 128 neighbours {with_range:.3f}x")
    return Measured("\n".join(lines), holds and bool(lines))


def beyond() -> Measured:
    """Shootdowns of 100 cycles. Both are placed before the run: what the host takes to write that is counted, or
    is not; it has to hold both ways. even-moves finds all pages beyond the link, as the paper's rules do, and the
    oracle does not: no rule that begins there can come near it where data are used once."""
    rules = {"even": OURS[0], "even-moves": OURS[1]}
    lines, holds = [], True
    for what, names in (("the paper's programs", _of_paper()), ("all programs", study().programs)):
        for paid in (False, True):
            best = _placed_mean(ORACLE, names, paid)
            for label, rule in rules.items():
                mean = _placed_mean(rule, names, paid)
                if label == "even":
                    holds = holds and mean >= (1 - NEAR) * best
                words = "placement paid" if paid else "placement free"
                lines.append(
                    f"{label}, {what}, {words}: {mean:.3f}x, the oracle {best:.3f}x, {mean / best - 1:+.1%}"
                )
    far = {name: speedup(study(), name, OURS[0]) / speedup(study(), name, ORACLE) - 1 for name in study().programs}
    worst = sorted(far, key=lambda name: far[name])[:3]
    lines.append("even, the farthest: " + ", ".join(f"{name} {far[name]:+.1%}" for name in worst))
    return Measured("\n".join(lines), holds)


def _placed_mean(rule: Rule, names: Sequence[str], paid: bool) -> float:
    """Returns the mean with or without the host's time to write the pages that a rule has placed in the GPU's
    memory."""
    speeds = []
    for name in names:
        seconds = study().get(name, rule)["seconds"] + (placed_seconds(study(), name, rule) if paid else 0)
        speeds.append(study().get(name, REMOTE)["seconds"] / seconds)
    return geometric_mean(speeds) or 0.0


CRITERIA = [
    Criterion(
        "study: order",
        "geometric means: over the link < threshold < + range < + balancing <= oracle; beside the published "
        "1.95x, 1.06x of copying before, oracle 28 % above",
        order,
    ),
    Criterion("study: threshold 1", "is best for most programs", best_thresholds),
    Criterion("study: bfs", "gains from higher thresholds", bfs),
    Criterion("study: minife", "loses at low thresholds", minife),
    Criterion("study: needle", "gains from neighbours at high thresholds", needle),
    Criterion("study: ours", f"a rule of ours within {NEAR:.0%} of the oracle in the geometric mean", beyond),
]
