# SPDX-License-Identifier: Apache-2.0
"""Renders the page of `terrace report`, with sections in the order of a reader's questions."""

from html import escape

from terrace import units
from terrace.report import benefit, curve, heat_map, machine_tree, observation, parts, timeline
from terrace.report.facts import Facts

_WHERE = {
    "fast": "fast memory",
    "part": "partly fast memory",
    "moved": "moved in and out",
    "slow": "slow memory",
}


def render(facts: Facts) -> str:
    """Returns the HTML file; it contains no external references."""
    title = f"{facts.run.name}: placement report"
    sections = [
        *(_learned(facts) if facts.learned else []),
        parts.section("plan", _plan_title(facts), _plan_text(facts), timeline.draw(facts), _plan_tables(facts)),
        parts.section(
            "machine",
            f"The machine: {facts.machine.name}",
            escape(facts.machine.description),
            machine_tree.draw(facts),
            _machine_table(facts),
        ),
        _notes(facts),
    ]
    body = f"{_header(facts)}\n<main>\n{''.join(sections)}</main>\n{_footer(facts)}"
    return parts.document(title, body)


# HTML below the curve over sizes.
_CURVE_NOTE = (
    "<p>The points are quick decisions, with the planner's effort in a live run; "
    "<code>terrace plan --sweep</code> makes thorough ones.</p>\n"
)


def _learned(facts: Facts) -> list[str]:
    """Returns the sections that require a profile."""
    return [
        parts.section(
            "curve",
            "How much fast memory is enough",
            _curve_text(facts),
            curve.draw(facts),
            _CURVE_NOTE + _curve_table(facts),
        ),
        parts.section(
            "objects",
            "Cache misses by object and phase",
            _heat_text(facts),
            heat_map.draw(facts),
            _object_table(facts),
        ),
        parts.section(
            "benefit",
            "What each object gains from fast memory",
            "Each dot is an object: its size, and how much shorter an iteration is with this object alone in fast "
            "memory. Objects at the upper left gain most per byte of fast memory.",
            benefit.draw(facts),
            _benefit_table(facts),
        ),
    ]


def _header(facts: Facts) -> str:
    """Renders the headline and the introduction."""
    time = "virtual time" if facts.run.virtual else "real time"
    many = len({i.iteration for i in facts.instances})
    phases = len(facts.phases)
    lead = (
        f"{facts.run.name} keeps {units.size(facts.footprint)} in {len(facts.profile.objects)} objects and "
        f"repeats {phases} phase{'s' * (phases != 1)}, {many} times in this run, "
        f"in {time} on {facts.machine.name}. "
    )
    if facts.gain > 0:
        lead += (
            "With all of it in fast memory an iteration would take "
            f"{units.percent(facts.gain / facts.pricing.slow_only)} less time than with all of it in slow memory."
        )
    return (
        f"<header>\n<h1>Terrace · {escape(facts.run.name)} on {escape(facts.machine.name)}</h1>\n"
        f'<p class="headline">{escape(facts.sentence)}</p>\n<p class="lead">{escape(lead)}</p>\n'
        f"{_warnings(facts)}{_tiles(facts)}\n</header>"
    )


def _warnings(facts: Facts) -> str:
    return "".join(
        f"<p class=warning>{escape(text)}</p>\n" for text in observation.warnings(facts.run, facts.coverage)
    )


def _tiles(facts: Facts) -> str:
    """Renders the tiles below the headline: the time of an iteration in each placement."""
    pricing = facts.pricing
    tiles = []
    if facts.learned:
        tiles.append(("slow", "Slow memory only", pricing.slow_only, "per iteration, predicted"))
    elif facts.plan is not None and facts.plan.predicted_slow > 0:
        tiles.append(("slow", "Slow memory only", facts.plan.predicted_slow, "per iteration, by the plan"))
    steady = facts.steady
    if facts.plan is not None and steady is not None:
        about = "measured"
        if facts.plan.predicted > 0:  # a hand-written plan has no prediction
            about += f"; predicted {units.seconds(facts.plan.predicted)}"
        tiles.append(("plan", "With the plan", steady, about))
        if bound := pricing.bound:
            about = "no placement beats it on average over the recorded iterations; from exact counters"
            if pricing.bound_confidence is not None:
                sure = units.percent(pricing.bound_confidence, 0)
                about = f"of the mean iteration, at {sure} confidence; from samples, which do not prove a bound"
            if steady >= bound:
                about += f". The plan is {units.percent(steady / bound - 1)} above"
            tiles.append(("bound", "Lower bound", bound, about))
    if facts.learned:
        tiles.append(("fast", "Fast memory only", pricing.fast_only, "per iteration, predicted"))
    return parts.tiles([(style, name, units.seconds(value), about) for style, name, value, about in tiles])


def _curve_text(facts: Facts) -> str:
    """Returns the text above the curve over sizes of fast memory."""
    return (
        f"The time of an iteration that the planner {escape(facts.pricing.planner)} predicts for each size of the "
        "fast memory, between slow-only and fast-only. The vertical axis does not begin at zero. The bound "
        "holds for every software placement of that size in the usual iteration"
        f"{'' if facts.pricing.bound_confidence is None else ', estimated from the same samples'}; it can be "
        "below fast-only, because both memories together have more bandwidth than one."
    )


def _curve_table(facts: Facts) -> str:
    rows = [
        [
            units.size(point.size),
            units.percent(point.size / facts.footprint) if facts.footprint else "",
            units.seconds(point.predicted),
            units.percent(facts.share_of_gain(point)),
            units.seconds(point.lower_bound) if point.lower_bound is not None else "",
        ]
        for point in facts.pricing.curve
    ]
    headings = ["fast memory", "of the data", "per iteration", "of the gain", "lower bound"]
    return parts.details("Table", headings, rows)


def _heat_text(facts: Facts) -> str:
    source = "exact counts" if facts.profile.exact else "estimates from samples"
    return (
        f"The share of each phase's misses that an object causes ({source}). Stronger colours mean "
        "more. Below each phase's name is its profiled time."
    )


def _object_table(facts: Facts) -> str:
    """Renders the table of objects by phase."""
    rows = []
    by_phase = facts.misses.sum(axis=0)
    for o in facts.by_traffic:
        item = facts.profile.objects[o]
        shares = [
            f"{units.percent(facts.misses[o, p] / by_phase[p])} {facts.sensitivity[o][p]}".strip()
            if by_phase[p] > 0 and facts.misses[o, p] > 0
            else ""
            for p in range(len(facts.profile.phases))
        ]
        traffic = facts.traffic[o].sum()
        exposed = units.count(facts.profile.exposure[o].sum())
        rows.append([item.name, item.kind, units.size(item.size), units.size(traffic), exposed, *shares])
    names = [phase.name for phase in facts.profile.phases]
    headings = ["object", "kind", "size", "traffic", "exposed latencies", *names]
    return parts.details(
        "Table: share of the phase's misses, and the object's sensitivity", headings, rows, (0, 1)
    )


def _benefit_table(facts: Facts) -> str:
    """Renders the table of benefits, the largest first."""
    order = sorted(range(len(facts.profile.objects)), key=lambda o: -facts.pricing.benefits[o])
    rows = []
    for o in order:
        gain, item = facts.pricing.benefits[o], facts.profile.objects[o]
        if gain <= 0:
            continue
        per_mib = units.seconds(gain / item.size * (1 << 20)) if item.size else ""
        sure = facts.certainty[o]
        interval = f"{units.seconds(sure.low)} to {units.seconds(sure.high)}"
        rows.append(
            [
                item.name,
                units.size(item.size),
                units.seconds(gain),
                interval,
                sure.certainty,
                per_mib,
                _WHERE[facts.fate[o]],
            ]
        )
    headings = [
        "object",
        "size",
        "gain per iteration",
        "90 % interval by sampling error",
        "rank",
        "gain per MiB",
        "in this plan",
    ]
    return parts.details("Table", headings, rows, (0, 4, 6))


def _plan_title(facts: Facts) -> str:
    return "The run by phase" if facts.plan is None else "The plan and its execution"


def _without_plan(facts: Facts) -> str:
    if facts.run.mode == "record":
        return "This is a recording: it observes the program and makes no plan."
    return f"This run had no plan (planner {escape(facts.run.planner)})."


def _plan_text(facts: Facts) -> str:
    """Returns the text above the timeline: what was moved, and the waits."""
    if facts.plan is None:
        return (
            f"{_without_plan(facts)} <code>terrace plan</code> makes a plan from this file, and "
            "<code>terrace run --plan</code> runs with it."
        )
    moved = sum(move.size for move in facts.moves if not move.refused)
    waited = sum(i.waited for i in facts.instances)
    spent = sum(i.ended - i.begun for i in facts.instances)
    many = sum(not move.refused for move in facts.moves)
    share = units.percent(waited / spent if spent else 0.0)
    return (
        f"Planned by {escape(facts.plan.planner)} ({escape(facts.plan.why)}), under "
        f"{escape(', '.join(facts.plan.budget)) or 'no limit'}. In the whole run {many} moves transferred "
        f"{units.size(moved)}; phases waited {units.seconds(waited)} for them ({share} of "
        "the loop). A thin line is a queued move."
    )


def _plan_tables(facts: Facts) -> str:
    """Renders the tables of the plan: places and moves."""
    if facts.plan is None:
        return ""
    placed = []
    for position, item in enumerate(facts.plan.objects):
        for part in facts.plan.parts:
            if part.object == position:
                share = part.chunks / max(item.chunks, 1)
                pinned = "never moves" if item.pinned else ""
                placed.append([item.name, units.size(item.size), units.percent(share, 0), part.place, pinned])
    repeated = [
        [
            facts.plan.objects[move.object].name,
            units.percent(move.chunks / max(facts.plan.objects[move.object].chunks, 1), 0),
            move.target,
            facts.phase_name(move.ask),
            facts.phase_name(move.need) if move.awaited else "not awaited",
            units.seconds(move.benefit),
            units.seconds(move.cost),
        ]
        for move in facts.plan.moves
    ]
    done = [
        [
            facts.object_name(move.object),
            units.size(move.size),
            facts.place_name(move.source),
            facts.place_name(move.target),
            f"{move.iteration + 1}",
            facts.phase_name(move.ask),
            units.seconds(move.asked),
            units.seconds(move.begun),
            units.seconds(move.done),
            units.seconds(move.waited),
            "refused" if move.refused else f"{units.seconds(move.benefit)} for {units.seconds(move.cost)}",
        ]
        for move in facts.moves
    ]
    return (
        parts.details("Initial placement", ["object", "size", "share", "place", ""], placed, (0, 3, 4))
        + parts.details(
            "Moves of every iteration",
            ["object", "share", "to", "requested at", "needed by", "benefit", "cost"],
            repeated,
            (0, 2, 3, 4),
        )
        + parts.details(
            "Completed moves",
            [
                "object",
                "size",
                "from",
                "to",
                "iteration",
                "requested at",
                "queued",
                "begun",
                "done",
                "waited",
                "why",
            ],
            done,
            (0, 2, 3, 5),
        )
    )


def _machine_table(facts: Facts) -> str:
    """Renders the table of memories by initiator."""
    rows = []
    for path in facts.machine.paths:
        place = facts.machine.places[path.place]
        seen_by = facts.machine.initiators[path.initiator].name
        rows.append(
            [
                place.name,
                place.kind,
                units.size(place.capacity),
                seen_by,
                units.rate(path.read),
                units.rate(path.write),
                units.seconds(path.latency),
            ]
        )
    headings = ["place", "kind", "capacity", "initiator", "read", "write", "latency"]
    return parts.details("Table", headings, rows, (0, 1, 3))


def _notes(facts: Facts) -> str:
    """Renders the notes on what the profile is based on."""
    sentence = observation.observed(facts.loop)
    items = [sentence] if sentence else []
    items += observation.observed_accesses(facts.run, facts.counters, facts.coverage, facts.loop)
    if uncalibrated := observation.uncalibrated(facts.run, facts.machine):
        items.append(f"note: {uncalibrated}")
    if calibrated := observation.calibrated(facts.run):
        items.append(f"note: {calibrated}")
    items += [f"{note.severity}: {note.text}" for note in facts.notes]
    inner = "".join(f"<li>{escape(item)}</li>" for item in items)
    return (
        f'<section aria-labelledby="notes-h"><h2 id="notes-h">Notes</h2><ul class=notes>{inner}</ul></section>\n'
    )


def _footer(facts: Facts) -> str:
    """Renders the footer: program, run, file, and the command that repeats the page."""
    run = facts.run
    command = " ".join(run.arguments) or run.program
    rows = [
        ("Program", f"{command} (process {run.process} on {run.host})"),
        ("Run", f"terrace {run.mode}, planner {run.planner or 'none'}, budget {run.budget or 'none'}"),
        ("Profile", facts.file.name),
        ("Repeat", f"terrace report {facts.file.name}"),
    ]
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f"<footer><dl class=facts>{inner}</dl></footer>"
