"""Beyond the paper, in the report of `terrace lab experiment ccnuma`: our own policy, today's, processors'."""

from __future__ import annotations

from terrace.lab.experiment.ccnuma import COMBINED, OURS, REVERSING, TIERING, TODAYS, Rule, Study
from terrace.lab.experiment.ccnuma_figures import ORACLE, REMOTE, grouped, run_time, speedup, with_mean
from terrace.lab.experiment.page import Section
from terrace.lab.experiment.tables import Row, Table


def placed_seconds(study: Study, program: str, rule: Rule) -> float:
    """What the host takes to write, over the link, what a rule has in the GPU's own memory from the beginning."""
    before, run = study.get(program, REMOTE), study.get(program, rule)
    pages = max(len(before["page_accesses"]), 1)
    return float(before["copy_seconds"]) * int(run["placed_pages"]) / pages


def beyond(study: Study) -> Section:
    """The section."""
    rules = {
        "even": OURS[0],
        "even-moves": OURS[1],
        "interleave": Rule("interleave"),
        "oracle": ORACLE,
        "all combined": COMBINED[-1],
        "and reversing": REVERSING,
        **{rule.kind: rule for rule in (*TODAYS, *TIERING)},
    }
    rows: list[Row] = [
        {"program": name, **{label: speedup(study, name, rule) for label, rule in rules.items()}}
        for name in study.programs
    ]
    table = Table("beyond", "Speed of Terrace's own policy, today's and those of processors", with_mean(rows))
    paying: list[Row] = []
    for name in study.programs:
        row: Row = {"program": name}
        for label in ("even", "interleave", "oracle"):
            rule = rules[label]
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
        "placed before it, as even and interleave are: the second table has that paid for. first-touch and "
        "unified-memory fault, access-counters moves 64 KiB after 256 accesses, as NVIDIA's driver does; the "
        "last four tier a processor's memory.",
        pictures=[grouped(table, "speed, 1 = over the link")],
        tables=[table, paid],
    )
