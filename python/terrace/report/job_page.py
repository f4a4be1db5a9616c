# SPDX-License-Identifier: Apache-2.0
"""Renders the page of `terrace report` for the profile of an MPI job: its ranks side by side."""

from html import escape

from terrace import units
from terrace.report import job_charts, parts
from terrace.report.job_facts import HiddenMoves, JobFacts, PhaseBalance, run_time
from terrace.store import job

_MANY_COLUMNS = 8  # ranks with columns of their own


def render(facts: JobFacts) -> str:
    """Returns the HTML file; it contains no external references."""
    phases, hidden = facts.phases(), facts.hidden_moves()
    sections = [
        parts.section(
            "times", "Time of each rank", _times_text(), job_charts.rank_times(facts), _rank_table(facts)
        ),
        parts.section(
            "balance",
            "Imbalance by phase",
            "Seconds of an iteration in each phase of the main loop: the mean of the ranks, and the slowest one. "
            "Grey phases are calls of MPI: a rank that is slow in computation lets the others wait there.",
            job_charts.imbalance(phases),
            _balance_table(facts, phases),
        ),
        *_fast_memory(facts),
        parts.section("hidden", "Moves and waits in MPI", _hidden_text(hidden), "", _hidden_table(hidden)),
        *_messages(facts),
        _notes(facts),
    ]
    body = f"{_header(facts, phases, hidden)}\n<main>\n{''.join(sections)}</main>\n{_footer(facts)}"
    return parts.document(f"{facts.name}, {len(facts.ranks)} ranks: placement report", body)


def _header(facts: JobFacts, phases: list[PhaseBalance], hidden: dict[int, HiddenMoves]) -> str:
    hosts = sorted({rank.run.host for rank in facts.ranks})
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} nodes"
    return (
        f"<header>\n<h1>Terrace · {escape(facts.name)}, {len(facts.ranks)} ranks on {escape(where)}</h1>\n"
        f'<p class="headline">{escape(_sentence(facts))}</p>\n<p class="lead">{escape(_lead(facts))}</p>\n'
        f"{_warnings(facts)}{_tiles(facts, phases, hidden)}\n</header>"
    )


def _sentence(facts: JobFacts) -> str:
    """Returns the headline: how much the slowest rank exceeds the mean, and the share of MPI."""
    outside = facts.outside_mpi()
    if not outside:
        return "No rank called MPI and ended by itself, so nothing is known of its calls."
    mean, slowest = sum(outside.values()) / len(outside), max(outside, key=lambda rank: (outside[rank], -rank))
    share = _mpi_share(facts)
    if len(outside) < 2 or mean <= 0 or outside[slowest] < 1.02 * mean:
        return (
            "The ranks spend equally long outside of MPI, within 2 %; calls of MPI take "
            f"{units.percent(share, 0)} of their time."
        )
    return (
        f"Rank {slowest} spends {units.percent(outside[slowest] / mean - 1, 0)} longer outside of MPI than the "
        f"mean; calls of MPI take {units.percent(share, 0)} of the ranks' time."
    )


def _mpi_share(facts: JobFacts) -> float:
    """Returns the share of the ranks' time in MPI. Calls of several threads count for one at most."""
    outside = facts.outside_mpi()
    whole = sum(run_time(rank) for rank in facts.ranks if rank.number in outside)
    return 1 - sum(outside.values()) / whole if whole > 0 else 0.0


def _lead(facts: JobFacts) -> str:
    """Returns the introduction: iterations, time and messages."""
    iterations = sorted({len({one.iteration for one in rank.phases}) for rank in facts.ranks if rank.phases})
    counted = f"{iterations[0]} to {iterations[-1]}" if len(iterations) > 1 else "".join(map(str, iterations))
    followed = f"Terrace followed {counted} iterations of the main loop. " if iterations else ""
    sent = sum(one.messages for rank in facts.ranks for one in rank.messages)
    size = sum(one.bytes for rank in facts.ranks for one in rank.messages)
    return (
        f"The job took {units.seconds(facts.end)}. {followed}The ranks sent {units.count(sent)} messages of "
        f"{units.size(size)} in total."
    )


def _warnings(facts: JobFacts) -> str:
    known = facts.ranks[0].run.ranks or 0
    missing = known - len(facts.ranks)
    killed = ", ".join(map(str, facts.killed))
    texts = []
    if killed:
        texts.append(
            f"Did not exit normally (killed, or still running), so without MPI statistics: rank {killed}."
        )
    if missing > 0:
        texts.append(f"{missing} of the job's {known} ranks are not in this file.")
    return "".join(f"<p class=warning>{escape(text)}</p>\n" for text in texts)


def _tiles(facts: JobFacts, phases: list[PhaseBalance], hidden: dict[int, HiddenMoves]) -> str:
    """Renders the key figures."""
    tiles = [("", "Job", units.seconds(facts.end), "until the last rank ended")]
    if facts.outside_mpi():
        tiles.append(("slow", "In MPI", units.percent(_mpi_share(facts), 0), "of the ranks' time"))
    computed = [phase for phase in phases if not job.is_call(phase.name) and len(phase.by_rank) > 1]
    if computed:
        lost = max(computed, key=lambda phase: phase.most - phase.mean)
        tiles.append(
            (
                "bound",
                "Largest imbalance",
                units.seconds(lost.most - lost.mean),
                f"per iteration in {lost.name}: rank {lost.slowest} above the mean",
            )
        )
    if moving := sum(one.moving for one in hidden.values()):
        share = sum(one.hidden for one in hidden.values()) / moving
        tiles.append(
            ("fast", "Moves hidden", units.percent(share, 0), "of their time, in phases that wait in MPI")
        )
    return parts.tiles(tiles)


def _times_text() -> str:
    return (
        "Seconds of each process from its start to its end. Waiting for others is part of the calls of MPI, so "
        "the rank with the most time outside of MPI is the one for which the others wait. Times in MPI are summed "
        "over threads."
    )


def _rank_table(facts: JobFacts) -> str:
    outside = facts.outside_mpi()
    rows = []
    for rank in facts.ranks:
        known = rank.number in outside
        total = run_time(rank)
        rows.append(
            [
                str(rank.number),
                f"{rank.run.host}, {rank.run.process}",
                "killed" if rank.is_killed else units.seconds(total),
                units.seconds(outside[rank.number]) if known else "",
                units.seconds(rank.time_in_mpi) if known else "",
                units.percent(rank.time_in_mpi / total) if known and total > 0 else "",
                units.count(sum(call.calls for call in rank.calls)),
                units.count(sum(one.messages for one in rank.messages)),
                units.size(sum(one.bytes for one in rank.messages)),
                units.size(sum(move.size for move in rank.moves if not move.refused)),
            ]
        )
    headings = [
        "rank",
        "host, process",
        "time",
        "outside MPI",
        "in MPI",
        "share",
        "calls",
        "messages",
        "sent",
        "moved",
    ]
    functions = [
        [
            name,
            units.seconds(sum(times.values())),
            units.seconds(min(times.values())),
            units.seconds(max(times.values())),
        ]
        for name, times in facts.functions(1 << 20).items()
    ]
    return parts.details("Table of ranks", headings, rows, (0, 1)) + parts.details(
        "Table of functions", ["function", "sum of ranks", "least", "most"], functions
    )


def _balance_table(facts: JobFacts, phases: list[PhaseBalance]) -> str:
    columns = [rank.number for rank in facts.ranks] if len(facts.ranks) <= _MANY_COLUMNS else []
    rows = [
        [
            phase.name,
            units.seconds(phase.mean),
            units.seconds(phase.most),
            str(phase.slowest),
            f"{100 * phase.imbalance:+.1f} %",
            str(len(phase.by_rank)),
            *[units.seconds(phase.by_rank[rank]) if rank in phase.by_rank else "" for rank in columns],
        ]
        for phase in phases
    ]
    headings = [
        "phase",
        "mean",
        "slowest",
        "rank",
        "above the mean",
        "ranks",
        *[f"rank {rank}" for rank in columns],
    ]
    return parts.details("Table: seconds of an iteration", headings, rows)


def _fast_memory(facts: JobFacts) -> list[str]:
    """Renders a section for each fast memory: which rank holds how much of it when."""
    places = facts.fast_places()
    if not places:
        text = "No rank held data in faster memory, or the machine has one kind of memory."
        return [parts.section("fast", "Fast memory by rank", text, "")]
    sections = []
    for number, (place, ranks) in enumerate(places.items()):
        rows = [
            [str(rank), units.size(job.peak(steps)), units.size(_mean(facts, steps)), units.size(steps[-1].bytes)]
            for rank, steps in sorted(ranks.items())
        ]
        sections.append(
            parts.section(
                f"fast{number}",
                f"Fast memory by rank: {place}",
                "Bytes of the program's objects in this memory, by rank, from the start of the first rank on. "
                "Moved data count where they arrive.",
                job_charts.fast_memory(f"fast-{number}", place, ranks, facts.end),
                parts.details("Table", ["rank", "most", "mean", "at the end"], rows),
            )
        )
    return sections


def _mean(facts: JobFacts, steps: list[job.Usage]) -> float:
    """Returns the mean of the bytes over the job's time."""
    if facts.end <= 0:
        return 0.0
    ends = [*[step.time for step in steps[1:]], max(facts.end, steps[-1].time)]
    return sum(step.bytes * (end - step.time) for step, end in zip(steps, ends, strict=True)) / facts.end


def _hidden_text(hidden: dict[int, HiddenMoves]) -> str:
    if not hidden:
        return "No rank moved data."
    moving, inside = (sum(getattr(one, name) for one in hidden.values()) for name in ("moving", "hidden"))
    waited = sum(one.waited for one in hidden.values())
    return (
        f"Moves were in progress for {units.seconds(moving)} (sum of ranks). For {units.seconds(inside)} of "
        "it the rank was in a phase that is a call of MPI, so the rank itself was not computing; the copy may "
        "have slowed others. Calls too short for a phase are not included. Phases waited "
        f"{units.seconds(waited)} for moves."
    )


def _hidden_table(hidden: dict[int, HiddenMoves]) -> str:
    rows = [
        [
            str(rank),
            units.count(one.moves),
            units.size(one.bytes),
            units.seconds(one.moving),
            units.seconds(one.hidden),
            units.percent(one.hidden / one.moving if one.moving > 0 else 0.0),
            units.seconds(one.waited),
        ]
        for rank, one in sorted(hidden.items())
    ]
    headings = ["rank", "moves", "bytes", "in progress", "in MPI meanwhile", "share", "waited for moves"]
    return parts.details("Table", headings, rows)


def _messages(facts: JobFacts) -> list[str]:
    """Renders the sections on messages by pair of ranks and by size."""
    pairs, by_size = facts.pairs(), facts.sizes()
    if not pairs:
        return [parts.section("pairs", "Messages", "No rank sent a point-to-point message.", "")]
    rows = [
        [
            str(pair.sender),
            "unknown" if pair.receiver is None else str(pair.receiver),
            units.count(pair.messages),
            units.size(pair.bytes),
            units.size(pair.bytes / pair.messages),
        ]
        for pair in pairs
    ]
    of_sizes = [[units.size(least), units.count(n), units.size(total)] for least, (n, total) in by_size.items()]
    unknown = sum(pair.bytes for pair in pairs if pair.receiver is None)
    more = f" {units.size(unknown)} went to unknown ranks, in other communicators." if unknown else ""
    return [
        parts.section(
            "pairs",
            "Messages by pair of ranks",
            f"Bytes of point-to-point messages from each rank to each rank.{more}",
            job_charts.pairs(facts, pairs),
            parts.details("Table", ["from", "to", "messages", "bytes", "mean size"], rows, (0, 1)),
        ),
        parts.section(
            "sizes",
            "Messages by size",
            "Point-to-point messages of all ranks, by size.",
            job_charts.sizes(by_size),
            parts.details("Table", ["size from", "messages", "bytes"], of_sizes),
        ),
    ]


def _notes(facts: JobFacts) -> str:
    items = [f"{note.severity}: {note.text}" for note in facts.notes]
    inner = "".join(f"<li>{escape(item)}</li>" for item in dict.fromkeys(items))
    return (
        f'<section aria-labelledby="notes-h"><h2 id="notes-h">Notes</h2><ul class=notes>{inner}</ul></section>\n'
    )


def _footer(facts: JobFacts) -> str:
    """Renders the footer: program, run, file, and the commands that make this page and that of a rank."""
    run = facts.ranks[0].run
    command = " ".join(run.arguments) or run.program
    rows = [
        ("Program", command),
        ("Run", f"terrace {run.mode}, planner {run.planner or 'none'}, budget {run.budget or 'none'}"),
        ("Profile", facts.file.name),
        ("Repeat", f"terrace report {facts.file.name}"),
        ("One rank", f"terrace report {facts.file.name} --rank {run.rank}"),
    ]
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f"<footer><dl class=facts>{inner}</dl></footer>"
