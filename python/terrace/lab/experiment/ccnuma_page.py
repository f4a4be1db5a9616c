# SPDX-License-Identifier: Apache-2.0
"""Writes the report of `terrace lab experiment ccnuma`: the study's figures and table, simulated and published."""

from __future__ import annotations

from terrace import _core
from terrace.lab.experiment import ccnuma_iterations, provenance
from terrace.lab.experiment.ccnuma import (
    COMBINED,
    DRAINING,
    MACHINE,
    RANGES,
    SHOOTDOWNS,
    THRESHOLDS,
    Rule,
    Study,
    touch,
)
from terrace.lab.experiment.ccnuma_beyond import beyond, half_the_room
from terrace.lab.experiment.ccnuma_figures import (
    BY_BANDWIDTH,
    LOCAL,
    ORACLE,
    REMOTE,
    grouped,
    lined,
    run_time,
    speedup,
    with_mean,
)
from terrace.lab.experiment.ccnuma_links import Links, section
from terrace.lab.experiment.ccnuma_time import hot_pages, shares_over_time
from terrace.lab.experiment.gpu_machine import copy_bandwidth, page_bytes
from terrace.lab.experiment.page import Report, Section
from terrace.lab.experiment.pictures import Level
from terrace.lab.experiment.tables import Row, Table, geometric_mean

# Agarwal et al., HPCA 2015, table II: cost of shootdowns, moves without one, and run time saved by range
# expansion, in per cent.
PUBLISHED = {
    "backprop": (29.1, 26, 7.6),
    "bfs": (6.7, 12, 0.8),
    "cns": (2.4, 20, 0.5),
    "comd": (2.02, 89, 1.8),
    "kmeans": (4.01, 79, 3.17),
    "minife": (3.6, 36, 1.3),
    "mummer": (21.15, 13, 2.75),
    "needle": (24.9, 55, 13.7),
    "pathfinder": (25.9, 10, 2.6),
    "srad_v1": (0.5, 27, 0.14),
    "xsbench": (2.1, 1, 0.02),
}
# Geometric means over access by the link only: sections IV-B and V-A; "oracle" follows from "within 28 %".
PUBLISHED_MEANS = {
    "touch 1, range 128": 1.85,
    "touch 64, range 64": 1.95,
    "all combined": 1.95,
    "copy before": 1.95 / 1.06,
    "oracle": 1.95 * 1.28,
}
CDF_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def copied_speedup(study: Study, program: str) -> float:
    """Returns the speedup with a copy of all pages before the run, including the copy's time."""
    copying = float(study.get(program, REMOTE)["copy_seconds"])
    return run_time(study, program, REMOTE) / (run_time(study, program, LOCAL) + copying)


def report(study: Study, longer: ccnuma_iterations.Iterations, links: Links) -> Report:
    """Returns the report of `terrace lab experiment ccnuma`, from all answers."""
    return Report(
        "Page placement on a GPU over a coherent link",
        "Gain of migrating pages to the GPU's own memory, by threshold and by number of neighbours.",
        f"{', '.join(study.programs)}: each program was run once, its results verified, and its warps replayed on "
        f"the machine file {MACHINE} under every rule. 1.0 is access over the link only.",
        [
            _sensitivity(study),
            _thresholds(study),
            _shootdowns(study),
            _footprint(study),
            _ranges(study),
            _savings(study),
            shares_over_time(study),
            _combined(study),
            _bandwidth(study),
            beyond(study),
            half_the_room(study),
            *([ccnuma_iterations.section(longer)] if longer.plain else []),
            section(links),
        ],
        provenance.describe(study.folder),
    )


def _sensitivity(study: Study) -> Section:
    """Returns the section on how programs depend on the memory of their pages."""
    rows: list[Row] = [
        {
            "program": name,
            "all local": speedup(study, name, LOCAL),
            "copy before": copied_speedup(study, name),
            BY_BANDWIDTH: speedup(study, name, Rule("interleave")),
            "oracle": speedup(study, name, ORACLE),
        }
        for name in study.programs
    ]
    copied = copy_bandwidth(study.machine(), study.get(study.programs[0], REMOTE))
    table = Table("sensitivity", "Speed of each placement, 1 = all pages remote", with_mean(rows))
    return Section(
        "Figure 2: memory requirements of the programs",
        "All pages in the GPU's own memory; the same including the time of a copy of all pages before the run at "
        f"{copied / 1e9:.0f} GB/s; pages in the ratio of the bandwidths; and the oracle: the fewest pages, "
        "hottest first, that give the GPU's own memory its share of the bandwidths.",
        pictures=[grouped(table, "speed, 1 = over the link")],
        tables=[table],
    )


def _have(study: Study, wanted: list[Rule]) -> list[Rule]:
    return [rule for rule in wanted if rule in study.rules]


def _thresholds(study: Study) -> Section:
    """Returns the section on the speed by migration threshold, with free TLB shootdowns."""
    columns = _have(study, [touch(threshold, shootdown=0) for threshold in THRESHOLDS])
    rows: list[Row] = [
        {"program": name, **{f"{rule.threshold}": speedup(study, name, rule) for rule in columns}}
        for name in study.programs
    ]
    table = Table("thresholds", "Speed by threshold, shootdowns free", with_mean(rows))
    best: list[Row] = [
        {"program": name, "best threshold": max(columns, key=lambda rule: speedup(study, name, rule)).threshold}
        for name in study.programs
    ]
    return Section(
        "Figure 4: thresholds",
        "A page moves after that number of accesses; shootdowns cost nothing.",
        pictures=[grouped(table, "speed, 1 = over the link")],
        tables=[table, Table("best-thresholds", "The best threshold of each program", best)],
    )


def _shootdowns(study: Study) -> Section:
    """Returns the section on the cost of TLB shootdowns."""
    costs = [cycles for cycles in SHOOTDOWNS if touch(1, shootdown=cycles) in study.rules]
    rows: list[Row] = []
    for name in study.programs:
        free = run_time(study, name, touch(1, shootdown=0))
        over = {f"{cycles}": run_time(study, name, touch(1, shootdown=cycles)) / free - 1 for cycles in costs}
        rows.append({"program": name, **over})
    mean: Row = {"program": "mean"}
    for cycles in costs:
        mean[f"{cycles}"] = sum(float(row[f"{cycles}"] or 0) for row in rows) / len(rows)
    table = Table(
        "shootdowns", "Time lost to shootdowns at threshold 1, by the cycles of a shootdown", [*rows, mean]
    )
    picture = lined(
        table, {f"{cycles}": cycles for cycles in costs}, "% of the time without", "cycles of a shootdown", 100
    )
    return Section(
        "Figure 5: cost of shootdowns",
        "Every page that moves after an access stops all SMs. The paper loses 16 % on average at 100 cycles.",
        pictures=[picture],
        tables=[table],
    )


def _footprint(study: Study) -> Section:
    """Returns the section on the share of traffic that the hottest pages have."""
    rows: list[Row] = []
    for name in study.programs:
        traffic = sorted(study.get(name, REMOTE)["page_bytes"], reverse=True)
        total = max(sum(traffic), 1)
        shares = {f"{share:.0%}": sum(traffic[: round(share * len(traffic))]) / total for share in CDF_SHARES}
        rows.append({"program": name, "pages": len(traffic), **shares})
    table = Table("footprint", "Share of DRAM traffic of the hottest pages, by their share of the footprint", rows)
    picture = lined(
        table,
        {f"{share:.0%}": 100 * share for share in CDF_SHARES},
        "share of the traffic",
        "% of the pages, hottest first",
    )
    return Section(
        "Figure 6: footprints",
        f"DRAM traffic by page of {_core.format_size(page_bytes(study.machine()))}; and the position of hot pages "
        "in the address space.",
        pictures=[picture, hot_pages(study)],
        tables=[table],
    )


def _ranges(study: Study) -> Section:
    """Returns the section on migrating neighbours of an accessed page."""
    tables = []
    for span in RANGES:
        columns = _have(study, [touch(threshold, span) for threshold in THRESHOLDS])
        if not columns:
            continue
        rows: list[Row] = [
            {"program": name, **{f"{rule.threshold}": speedup(study, name, rule) for rule in columns}}
            for name in study.programs
        ]
        tables.append(Table(f"range-{span}", f"Speed by threshold, with {span} neighbours", with_mean(rows)))
    return Section(
        "Figure 7: migration of neighbours",
        "Shootdowns of 100 cycles. Neighbours of the same allocation, the farthest first.",
        pictures=[grouped(table, "speed, 1 = over the link") for table in tables],
        tables=tables,
    )


def _savings(study: Study) -> Section:
    """Returns the section on shootdowns that migrating neighbours saves."""
    rows: list[Row] = []
    for name in study.programs:
        free, costly = run_time(study, name, touch(1, shootdown=0)), run_time(study, name, touch(1))
        ranged = study.get(name, touch(1, 128))
        quiet = ranged["without_shootdown"] / max(ranged["moved_pages"], 1)
        said = PUBLISHED.get(name)
        rows.append(
            {
                "program": name,
                "shootdowns cost_share": costly / free - 1,
                "published cost_share": said[0] / 100 if said else None,
                "moves without_share": quiet,
                "published without_share": said[1] / 100 if said else None,
                "shootdown time saved_share": quiet * (costly / free - 1),
                "published saved_share": said[2] / 100 if said else None,
                "time saved in all_share": 1 - float(ranged["seconds"]) / costly,
            }
        )
    table = Table("savings", "Shootdowns at threshold 1, and savings by 128 neighbours", rows)
    return Section(
        "Table II: savings by range expansion",
        "Shootdowns of 100 cycles: their cost at threshold 1, the share of moves without one if 128 neighbours "
        "move as well, and the product of both, which is the paper's saved run time: the time of "
        "avoided shootdowns. The last column is the total saving, including prefetching.",
        tables=[table],
    )


def _combined(study: Study) -> Section:
    """Returns the section on the paper's combined policy."""
    names = ("threshold 1", "and range 128", "and balancing")
    rows: list[Row] = [
        {
            "program": name,
            **{label: speedup(study, name, rule) for label, rule in zip(names, COMBINED, strict=True)},
            "copy before": copied_speedup(study, name),
            "oracle": speedup(study, name, ORACLE),
        }
        for name in study.programs
    ]
    table = Table("combined", "Speed of combined rules", with_mean(rows))
    means = table.rows[-1]
    ours = {
        "touch 1, range 128": means["and range 128"],
        "all combined": means["and balancing"],
        "copy before": means["copy before"],
        "oracle": means["oracle"],
    }
    if touch(64, 64) in study.rules:
        ours["touch 64, range 64"] = geometric_mean(
            [speedup(study, name, touch(64, 64)) for name in study.programs]
        )
    comparison: list[Row] = [
        {"rule": rule, "ours": ours.get(rule), "published": said} for rule, said in PUBLISHED_MEANS.items()
    ]
    return Section(
        "Figure 9: all rules combined",
        "Shootdowns of 100 cycles.",
        pictures=[grouped(table, "speed, 1 = over the link", (Level(1.95, "published mean, all rules"),))],
        tables=[table, Table("means", "Geometric means, ours and published", comparison), _draining(study)],
    )


def _draining(study: Study) -> Table:
    """Returns the table of the combined policy, if a shootdown first waits for outstanding accesses to the
    page."""
    names = ("threshold 1", "and range 128", "and balancing")
    rows: list[Row] = [
        {
            "program": name,
            **{label: speedup(study, name, rule) for label, rule in zip(names, DRAINING, strict=True)},
        }
        for name in study.programs
    ]
    return Table(
        "draining",
        "The same if a shootdown first waits for all outstanding accesses to the page",
        with_mean(rows),
    )


def _bandwidth(study: Study) -> Section:
    """Returns the section on the shares of traffic by memory and by cause."""
    rows: list[Row] = []
    for name in study.programs:
        run = study.get(name, COMBINED[-1])
        parts = {
            "remote demand_share": run["demand_bytes"][1],
            "remote moves_share": run["move_bytes"][1],
            "local moves_share": run["move_bytes"][0],
            "local demand_share": run["demand_bytes"][0],
        }
        total = max(sum(parts.values()), 1)
        rows.append({"program": name, **{part: count / total for part, count in parts.items()}})
    table = Table("bandwidth", "Composition of the traffic, all rules combined", rows)
    return Section(
        "Figure 10: demand and moves",
        "Shares of all bytes on the channels of both memories.",
        pictures=[grouped(table, "share of the bytes")],
        tables=[table],
    )
