"""Beyond the paper, in the report of `terrace lab experiment ccnuma`: our own policy, today's, processors'."""

from __future__ import annotations

from terrace import _core
from terrace.lab.experiment.ccnuma import COMBINED, HALF, OURS, REVERSING, TIERING, TODAYS, Rule, Study
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
    **{rule.kind: rule for rule in (*TODAYS, *TIERING)},
}


def placed_seconds(study: Study, program: str, rule: Rule) -> float:
    """What the host takes to write, over the link, what a rule has in the GPU's own memory from the beginning."""
    before, run = study.get(program, REMOTE), study.get(program, rule)
    pages = max(len(before["page_accesses"]), 1)
    return float(before["copy_seconds"]) * int(run["placed_pages"]) / pages


def nothing_moved(study: Study) -> list[str]:
    """A line for each rule that moved nothing in runs that are shorter than its interval."""
    said = []
    for rule in (OURS[1], *TIERING):  # they move pages, and only where an interval ends
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
    """How often what knows nothing of the program is faster."""
    faster = {
        label: sum(speedup(study, name, rule) > speedup(study, name, ORACLE) for name in study.programs)
        for label, rule in (("even", OURS[0]), ("all local", LOCAL))
    }
    of = len(study.programs)
    return (
        f"even is faster than the oracle in {faster['even']} of {of} programs, all local in {faster['all local']}"
    )


def _means(table: Table) -> Picture:
    means = [(column, number(value)) for column, value in table.rows[-1].items()]
    known = sorted(((value, column) for column, value in means if value is not None), reverse=True)
    ours = {rule.kind for rule in OURS}
    colours = [FAST if column in ours else GOOD if column == "oracle" else SOFT for _, column in known]
    chart = ranked(
        [column for _, column in known], [value for value, _ in known], colours, "speed, 1 = over the link"
    )
    return Picture(table.name, "Geometric means over all programs", chart)


def half_the_room(study: Study) -> Section:
    """What policies do where not all has room."""
    labels = {
        "local while there is room": HALF[0],
        "oracle": HALF[1],
        "threshold 1, evicting": HALF[2],
        "all combined, evicting": HALF[3],
        **{rule.kind: rule for rule in HALF[4:]},
    }
    rows: list[Row] = [
        {"program": name, **{label: speedup(study, name, rule) for label, rule in labels.items()}}
        for name in study.programs
    ]
    table = Table("half", "Speed where half of the pages have room, 1 = over the link", with_mean(rows))
    return Section(
        "Half of the room",
        "The GPU's own memory has room for half of what the program uses. A page that finds no room sends back "
        "the one that came first; unified-memory sends back whole blocks of 2 MiB, the one that was allocated "
        "first.",
        pictures=[_means(table)],
        tables=[table],
    )


def beyond(study: Study) -> Section:
    """The section."""
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
        "Speed, with the time that the host takes to write what is placed before the run",
        with_mean(paying),
    )
    return Section(
        "Beyond the paper",
        "Shootdowns of 100 cycles. even places pages in both memories in turns, by their bandwidths, and knows "
        "nothing of the program; even-moves finds all pages beyond the link. The oracle knows the run and is "
        "placed before it, as even and interleave by bandwidth are: the second table has that paid for. "
        "migrate-on-fault and unified-memory fault, access-counters moves 64 KiB after 256 accesses, as NVIDIA's "
        "driver does; kernel-tiering, alto, colloid and memtis tier a processor's memory. The best placement is "
        "the fastest of all local, interleave by bandwidth and the oracle, for each program, as they were run.",
        [
            "The oracle is no bound. It balances the bandwidths over the whole run: a program that waits for "
            "latency does better with more pages in the GPU's own memory, and pages that are spread evenly do "
            f"better where what is hot changes. Here {beats_the_oracle(study)}."
        ],
        pictures=[_means(table)],
        tables=[table, paid],
        notes=nothing_moved(study),
    )
