"""Compares times of malloc-test, the second benchmark of the paper on bmem (docs/results/pim.md), with its table 2
in every configuration. Criteria of acceptance/pim.

The machine may have other things to do. Series of 1 and 2 threads are taken when nothing interrupted the threads;
beside all of them stands a loop that shares nothing, which says what the machine itself makes of more threads.
"""

from __future__ import annotations

from harness import Criterion, Measured

from pim_lines.figures import Figure, figures

SECTION = "malloc-test"
MAX_GROWTH = 10.0  # %
NOISE = 0.10  # a throughput within this of another is no less
MIN_RATIO = 100.0


def _named(figure: Figure) -> str:
    return f"{figure.series}, {figure.threads} threads"


def _range(values: list[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


def _medians(measure: str, contender: str) -> list[float]:
    return [figure.median for figure in figures(SECTION, measure, contender)]


def growth() -> Measured:
    """Compares two threads on one device with one thread on it.

    It also compares them with two threads on a device each, which share nothing: the excess of the latter over one
    thread is the machine's own cost of two such threads."""
    most = max(figures(SECTION, "growth"), key=lambda figure: figure.median)
    sharing = max(figures(SECTION, "sharing"), key=lambda figure: figure.median)
    lines = [
        f"{most.median:+.1f} % ({most.low:+.1f} to {most.high:+.1f}) at most: {most.series}",
        f"{sharing.median:+.1f} % ({sharing.low:+.1f} to {sharing.high:+.1f}) at most beyond what threads with a "
        f"device each grow by: {sharing.series}",
        *(
            f"{contender}: {_range(medians, '+.1f')} % from 1 to 2 threads"
            for contender in ("terrace", "apart", "control", "paper", "glibc", "jemalloc", "mimalloc")
            if (medians := _medians("growth", contender))
        ),
    ]
    return Measured("\n".join(lines), most.median <= MAX_GROWTH)


def throughput() -> Measured:
    """Judges the throughput with more threads, relative to threads that share nothing."""
    ours, control = (figures(SECTION, "against 2 threads", name) for name in ("terrace", "apart"))
    # Where even what shares nothing falls, other work has the processors.
    beside = {(figure.series, figure.threads): min(1.0, figure.median) for figure in control}
    least = min(ours, key=lambda figure: figure.median / beside[figure.series, figure.threads])
    floor = beside[least.series, least.threads]
    lines = [
        f"{least.median:.2f} of that of 2 threads, the least, where threads with a device each have {floor:.2f}: "
        f"{_named(least)}"
    ]
    for contender in ("terrace", "apart", "control", "paper", "glibc"):
        total = _range(_medians("against 2 threads", contender), ".2f")
        processor = _range(_medians("processor against 2 threads", contender), ".2f")
        lines.append(f"{contender}: {total}; of a processor's time a request {processor}")
    return Measured("\n".join(lines), least.median >= (1 - NOISE) * floor)


def _over(contender: str, kinds: tuple[str, ...]) -> list[Figure]:
    ratios = figures(SECTION, "terrace over", contender)
    return [figure for figure in ratios if figure.series.startswith(kinds)]


def over_paper() -> Measured:
    """Compares with the reading of the paper that has its printed times (docs/results/pim.md).

    Down a column only the changed elements of the vectors are recomputed, otherwise all of them. The time of the
    most favourable reading is shown as well."""
    rows, columns = _over("paper-all", ("horizontal", "vertical as area")), _over("paper", ("vertical as column",))
    least = min(rows + columns, key=lambda figure: figure.median)
    lines = [f"{least.median:.0f}x and more; the least {_named(least)}"]
    kinder = _over("paper", ("horizontal", "vertical as area"))
    for title, of in (
        ("single rows, all elements anew, as the paper's times have it", rows),
        ("down a column, what changed, as the paper's times have it", columns),
        ("not held to the goal: single rows, had it computed only what changed", kinder),
    ):
        lines.append(f"{title}: {_range([figure.median for figure in of], '.0f')}x")
    return Measured("\n".join(lines), least.median >= MIN_RATIO)


CRITERIA = [
    Criterion(
        "malloc-test, 1 to 2 threads",
        f"time a request and thread grows by at most {MAX_GROWTH:.0f} % in every configuration",
        growth,
    ),
    Criterion(
        "malloc-test, 4 and 8 threads",
        f"total throughput does not fall below that of 2 threads in any configuration ({NOISE:.0%} are noise; "
        "what threads with a device each fall by is the machine's)",
        throughput,
    ),
    Criterion(
        "malloc-test, the paper's algorithm",
        f"at least {MIN_RATIO:.0f}x its throughput in every configuration",
        over_paper,
    ),
]
