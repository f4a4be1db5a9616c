# SPDX-License-Identifier: Apache-2.0
"""Draws the charts of an MPI job: time in MPI by function, imbalance by phase, fast memory by rank over time, and
messages by pair and by size. job_page.py shows them.
"""

from collections.abc import Mapping, Sequence
from html import escape

from terrace import units
from terrace.report import charts
from terrace.report.job_facts import JobFacts, PairMessages, PhaseBalance
from terrace.store import job
from terrace.store.job import Usage

COLOURS = (
    charts.FAST, charts.SLOW, charts.GOOD, charts.BOUND, charts.FAST2, charts.SLOW2, charts.WAIT, charts.FAST3,
    charts.SLOW3,
)  # fmt: skip
MANY_FUNCTIONS = 6
_MANY_RANKS = 32  # bars; beyond that the ranks with the most time in MPI
_MANY_AREAS = 8  # ranks with areas of their own
_MANY_PHASES = 16
_MANY_CELLS = 64  # ranks in a row of the matrix; beyond that, blocks of ranks
_TIMES = 500  # at which areas are drawn
_LETTERS = 44


def rank_times(facts: JobFacts) -> str:
    """Draws each rank's time: outside of MPI, and in MPI by function."""
    outside = facts.outside_mpi()
    if not outside:
        return "<p>No rank called MPI and ended by itself.</p>"
    functions = facts.functions(MANY_FUNCTIONS)
    shown = sorted(sorted(outside, key=lambda rank: outside[rank])[:_MANY_RANKS])
    figure = charts.figure(120 + 24 * len(shown), barmode="stack", bargap=0.25)
    names = [f"rank {rank}" for rank in shown]
    parts = {"outside of MPI": outside, **functions}
    palette = (charts.BAND2, *COLOURS)
    for number, (name, times) in enumerate(parts.items()):
        values = [times.get(rank, 0.0) for rank in shown]
        tips = [
            escape(f"{label}, {name}: {units.seconds(value)}") for label, value in zip(names, values, strict=True)
        ]
        figure.add_bar(
            orientation="h", y=names, x=values, name=escape(name), hovertext=tips, hoverinfo="text",
            marker={"color": palette[number % len(palette)]},
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="", automargin=True)
    figure.update_xaxes(showline=True, **charts.TIME)
    figure.update_layout(legend_traceorder="normal")
    words = f"Time of {len(shown)} ranks outside of MPI and in MPI by function."
    return charts.embed("rank-times", words, figure) + _left_out(len(outside) - len(shown), "ranks")


def imbalance(phases: Sequence[PhaseBalance]) -> str:
    """Draws each phase's mean over ranks, the slowest rank, and the range of all."""
    if not phases:
        return "<p>No phase of a main loop was observed.</p>"
    shown = phases[:_MANY_PHASES]
    ranks = max(len(phase.by_rank) for phase in phases)
    names = [
        charts.shortened(phase.name, _LETTERS)
        + (f"<br>({len(phase.by_rank)} of {ranks} ranks)" if len(phase.by_rank) < ranks else "")
        for phase in shown
    ]
    rows = list(range(len(shown)))
    figure = charts.figure(130 + 26 * len(shown), bargap=0.3)
    figure.add_bar(
        orientation="h", y=rows, x=[phase.mean for phase in shown], name="mean of ranks",
        marker={"color": [charts.BAND2 if job.is_call(phase.name) else charts.FAST2 for phase in shown]},
        hovertext=[escape(f"{phase.name}: mean {units.seconds(phase.mean)}") for phase in shown], hoverinfo="text",
    )  # fmt: skip
    figure.add_scatter(
        x=[x for phase in shown for x in (min(phase.by_rank.values()), phase.most, None)],
        y=[y for row in rows for y in (row, row, None)],
        mode="lines", line={"color": charts.INK, "width": 1.5}, name="fastest to slowest rank", hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=[phase.most for phase in shown], y=rows, mode="markers", name="slowest rank",
        marker={"color": charts.WAIT, "size": 9},
        hovertext=[
            escape(f"{p.name}: rank {p.slowest}, {units.seconds(p.most)}, {p.imbalance:+.0%}") for p in shown
        ],
        hoverinfo="text",
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=rows, ticktext=names, range=[len(shown) - 0.5, -0.5], showgrid=False, ticks="", automargin=True
    )
    figure.update_xaxes(rangemode="tozero", showline=True, **charts.TIME)
    words = f"Mean and slowest rank of {len(shown)} phases of an iteration."
    return charts.embed("imbalance", words, figure) + _left_out(len(phases) - len(shown), "shorter phases")


def fast_memory(name: str, place: str, ranks: Mapping[int, Sequence[Usage]], end: float) -> str:
    """Draws the bytes of a place that each rank holds over time, one above the other."""
    times = [end * step / _TIMES for step in range(_TIMES + 1)]
    order = sorted(ranks, key=lambda rank: (-job.peak(ranks[rank]), rank))
    alone = sorted(order[:_MANY_AREAS])
    series = [(f"rank {rank}", job.bytes_at(ranks[rank], times)) for rank in alone]
    if len(order) > _MANY_AREAS:
        rest = [job.bytes_at(ranks[rank], times) for rank in order[_MANY_AREAS:]]
        series.append((f"{len(rest)} other ranks", [sum(values) for values in zip(*rest, strict=True)]))
    figure = charts.figure(300)
    for number, (label, values) in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        figure.add_scatter(
            x=times, y=[value / (1 << 20) for value in values], mode="lines", stackgroup="ranks", name=label,
            line={"shape": "hv", "width": 0.5, "color": colour}, fillcolor=colour,
            hovertext=[f"{label}: {units.size(value)}" for value in values], hoverinfo="text+x",
        )  # fmt: skip
    figure.update_layout(legend_traceorder="normal")
    figure.update_xaxes(range=[0, end], showline=True, **charts.TIME)
    figure.update_yaxes(rangemode="tozero", ticksuffix=" MiB", title=escape(place))
    return charts.embed(name, f"Bytes of {place} that each rank holds over time.", figure)


def pairs(facts: JobFacts, all_pairs: Sequence[PairMessages]) -> str:
    """Draws the matrix of bytes from each rank (row) to each rank (column)."""
    known = [(pair, pair.receiver) for pair in all_pairs if pair.receiver is not None]
    if not known:
        return "<p>No message between known ranks was sent.</p>"
    count = 1 + max(max(pair.sender, receiver) for pair, receiver in known)
    count = max(count, *(rank.run.ranks or 0 for rank in facts.ranks))
    block = -(-count // _MANY_CELLS)  # ranks in a cell
    cells = -(-count // block)
    total = [[0] * cells for _ in range(cells)]
    numbers = [[0] * cells for _ in range(cells)]
    for pair, receiver in known:
        total[pair.sender // block][receiver // block] += pair.bytes
        numbers[pair.sender // block][receiver // block] += pair.messages
    labels = [str(i) if block == 1 else f"{i * block}-{min((i + 1) * block, count) - 1}" for i in range(cells)]
    tips = [
        [
            f"{labels[i]} to {labels[k]}: {units.count(numbers[i][k])} messages, {units.size(total[i][k])}"
            for k in range(cells)
        ]
        for i in range(cells)
    ]
    small = cells <= 12
    figure = charts.figure(max(130 + 34 * cells, 240) if small else 620)
    figure.add_heatmap(
        z=[[value if value > 0 else None for value in row] for row in total], x=labels, y=labels,
        colorscale=[[0, charts.BAND], [1, charts.FAST]], zmin=0, showscale=False, xgap=2, ygap=2,
        text=[[units.size(value) if value > 0 else "" for value in row] for row in total],
        texttemplate="%{text}" if small else "", hovertext=tips, hoverinfo="text",
    )  # fmt: skip
    axis = {"type": "category", "ticks": "", "showgrid": False, "showline": False}
    figure.update_xaxes(side="top", title="to rank", **axis)
    figure.update_yaxes(autorange="reversed", title="from rank", **axis)
    figure.update_layout(margin={"t": 70, "b": 15})
    return charts.embed("pairs", f"Bytes of messages between {count} ranks, by sender and receiver.", figure)


def sizes(by_size: Mapping[int, tuple[int, int]]) -> str:
    """Draws the numbers of messages, and their bytes, by size class."""
    labels = [units.size(least) for least in by_size]
    figure = charts.figure(260, barmode="group", bargap=max(0.25, 1 - 0.1 * len(labels)))
    for axis, name, colour, values, texts in (
        ("y", "messages", charts.FAST, [one[0] for one in by_size.values()],
         [units.count(one[0]) for one in by_size.values()]),
        ("y2", "bytes", charts.SLOW, [one[1] for one in by_size.values()],
         [units.size(one[1]) for one in by_size.values()]),
    ):  # fmt: skip
        figure.add_bar(
            x=labels, y=values, yaxis=axis, name=name, text=texts, textposition="outside", cliponaxis=False,
            marker={"color": colour}, offsetgroup=name, hoverinfo="x+text",
        )  # fmt: skip
    most = [max(one[k] for one in by_size.values()) for k in (0, 1)]
    quiet = {"showticklabels": False, "showgrid": False, "ticks": ""}
    figure.update_layout(
        yaxis={**quiet, "range": [0, 1.2 * most[0]]},
        yaxis2={**quiet, "range": [0, 1.2 * (most[1] or 1)], "overlaying": "y", "side": "right"},
        xaxis={"type": "category", "title": "size, rounded down to a power of two"},
    )
    return charts.embed("sizes", "Number and bytes of messages by size.", figure)


def _left_out(count: int, what: str) -> str:
    """Returns the caption on rows that the chart does not show."""
    return f"<figcaption>{count} more {what} are in the table only.</figcaption>" if count > 0 else ""
