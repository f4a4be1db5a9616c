# SPDX-License-Identifier: Apache-2.0
"""Writes the section of the ccnuma report that goes beyond the paper (Agarwal et al., HPCA 2015): Terrace's own
policy, current GPU policies, processors' policies."""

from __future__ import annotations

from terrace import _core
from terrace.lab.experiment.ccnuma import COMBINED, CURRENT_POLICIES, HALF, OURS, REVERSING, TIERING, Rule, Study
from terrace.lab.experiment.ccnuma_figures import (
    BY_BANDWIDTH,
    LOCAL,
    ORACLE,
    REMOTE,
    best_placement,
    number,
    run_time,
    speedup,
    with_mean,
)
from terrace.lab.experiment.page import Picture, Section
from terrace.lab.experiment.pictures import FAST, GOOD, SOFT, ranked
from terrace.lab.experiment.tables import Row, Table

RULES = {
    "even": OURS[0],
    "even-moves": OURS[1],
    BY_BANDWIDTH: Rule("interleave"),
    "oracle": ORACLE,
    "all combined": COMBINED[-1],
    "all combined and reversing": REVERSING,
    **{rule.kind: rule for rule in (*CURRENT_POLICIES, *TIERING)},
}


def placed_seconds(study: Study, program: str, rule: Rule) -> float:
    """Returns the time in which the host writes over the link what a rule places locally from the start."""
    before, run = study.get(program, REMOTE), study.get(program, rule)
    pages = max(len(before["page_accesses"]), 1)
    return float(before["copy_seconds"]) * int(run["placed_pages"]) / pages


def nothing_moved(study: Study) -> list[str]:
    """Returns a line for each rule that moved nothing because runs are shorter than its interval."""
    said = []
    for rule in (OURS[1], *TIERING):  # these move pages at the end of an interval only
        interval = _core.gpu_policy_interval(rule.kind)
        runs = [study.get(name, rule) for name in study.programs]
        short = sorted(run["seconds"] for run in runs if run["moved_pages"] == 0 and run["seconds"] < interval)
        if short:
            of = "" if len(short) == len(runs) else f" in {len(short)} of {len(runs)} programs"
            times = dict.fromkeys(f"{1e3 * seconds:.2g}" for seconds in (short[0], short[-1]))
            said.append(
                f"{rule.kind}: nothing moved{of}: it decides every {1e3 * interval:.2g} ms; the runs take "
                f"{' to '.join(times)} ms."
            )
    return said


def beats_the_oracle(study: Study) -> str:
    """Returns how often policies without knowledge of the program are faster than the oracle."""
    faster = {
        label: sum(speedup(study, name, rule) > speedup(study, name, ORACLE) for name in study.programs)
        for label, rule in (("even", OURS[0]), ("all local", LOCAL))
    }
    of = len(study.programs)
    return (
        f"even is faster than the oracle in {faster['even']} of {of} programs, all local in {faster['all local']}"
    )


def _means(table: Table) -> Picture:
    """Draws the geometric means of all policies as ranked bars."""
    means = [(column, number(value)) for column, value in table.rows[-1].items()]
    known = sorted(((value, column) for column, value in means if value is not None), reverse=True)
    ours = {rule.kind for rule in OURS}
    colours = [FAST if column in ours else GOOD if column == "oracle" else SOFT for _, column in known]
    chart = ranked(
        [column for _, column in known], [value for value, _ in known], colours, "speed, 1 = over the link"
    )
    return Picture(table.name, "Geometric means over all programs", chart)


def half_the_room(study: Study) -> Section:
    """Returns the section on policies with insufficient capacity."""
    labels = {
        "local until full": HALF[0],
        "oracle": HALF[1],
        "threshold 1, evicting": HALF[2],
        "all combined, evicting": HALF[3],
        **{rule.kind: rule for rule in HALF[4:]},
    }
    rows: list[Row] = [
        {"program": name, **{label: speedup(study, name, rule) for label, rule in labels.items()}}
        for name in study.programs
    ]
    table = Table("half", "Speed with capacity for half of the pages, 1 = over the link", with_mean(rows))
    return Section(
        "Half of the capacity",
        "The GPU's own memory has capacity for half of the program's pages. A page that does not fit evicts the "
        "least recently promoted one (FIFO); unified-memory evicts whole blocks of 2 MiB, in order of allocation.",
        pictures=[_means(table)],
        tables=[table],
    )


def beyond(study: Study) -> Section:
    """Returns the section on policies beyond the paper, from all answers."""
    rows: list[Row] = [
        {
            "program": name,
            **{label: speedup(study, name, rule) for label, rule in RULES.items()},
            "best placement": speedup(study, name, best_placement(study, name)),
        }
        for name in study.programs
    ]
    table = Table("beyond", "Speed of Terrace's own policy, today's and those of processors", with_mean(rows))
    paying: list[Row] = []
    for name in study.programs:
        row: Row = {"program": name}
        for label in ("even", BY_BANDWIDTH, "oracle"):
            rule = RULES[label]
            row[label] = run_time(study, name, REMOTE) / (
                run_time(study, name, rule) + placed_seconds(study, name, rule)
            )
        row["even-moves"] = speedup(study, name, OURS[1])
        paying.append(row)
    paid = Table(
        "paid",
        "Speed, including the time for the host's writes before the run",
        with_mean(paying),
    )
    return Section(
        "Beyond the paper",
        "Shootdowns of 100 cycles. even distributes pages over both memories in the ratio of bandwidths, without "
        "knowledge of the program; even-moves starts with all pages behind the link. The oracle knows the run and "
        "is placed before it, like even and interleave by bandwidth: the second table includes the cost. "
        "migrate-on-fault and unified-memory fault; access-counters moves 64 KiB after 256 accesses, as NVIDIA's "
        "driver does; kernel-tiering, alto, colloid and memtis tier a processor's memory. The best placement is "
        "the fastest of all local, interleave by bandwidth and the oracle, for each program, as run.",
        [
            "The oracle is not a bound. It balances the bandwidths over the whole run: a latency-bound program "
            "gains from more pages in the GPU's own memory, and evenly distributed pages gain "
            f"if hot pages change over time. Here {beats_the_oracle(study)}."
        ],
        pictures=[_means(table)],
        tables=[table, paid],
        notes=nothing_moved(study),
    )
