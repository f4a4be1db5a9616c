"""The paper's second benchmark, in every configuration of its table 2.

What threads do to each other is told from what other work on the machine does to them by the fastest of many short
rounds in which all threads were at work together; the medians, and a loop that shares nothing, stand beside it.
"""

from __future__ import annotations

from harness import Line, Measured

from pim_lines.figures import Figure, figures

SECTION = "malloc-test"
MOST_GROWTH = 10.0  # %
NOISE = 0.10  # a throughput within this of another is no less
LEAST_RATIO = 100.0


def _named(figure: Figure) -> str:
    return f"{figure.series}, {figure.threads} threads"


def _growths(measure: str, contender: str) -> str:
    medians = sorted(figure.median for figure in figures(SECTION, measure, contender))
    return f"{medians[0]:+.1f} to {medians[-1]:+.1f} %"


def growth() -> Measured:
    grown = figures(SECTION, "growth of the fastest")
    most = max(grown, key=lambda figure: figure.median)
    lines = [f"fastest rounds: {_growths('growth of the fastest', 'terrace')}; the most {most.series}"]
    for contender in ("terrace", "control", "paper", "glibc"):
        median, processor = (_growths(measure, contender) for measure in ("growth", "processor growth"))
        lines.append(f"{contender}: median rounds {median}, processor's time {processor}")
    return Measured("\n".join(lines), most.median <= MOST_GROWTH)


def throughput() -> Measured:
    best, medians, processor = (
        figures(SECTION, measure)
        for measure in ("best against 2 threads", "against 2 threads", "processor against 2 threads")
    )
    least = min(best, key=lambda figure: figure.median)
    lines = [
        f"best rounds {least.median:.2f} and more of that in 2 threads; the least {_named(least)}",
        f"median rounds {min(figure.median for figure in medians):.2f} and more, "
        f"processor's time of a request at most {max(figure.median for figure in processor):.2f} of that in 2",
    ]
    return Measured("\n".join(lines), least.median >= 1 - NOISE)


def over_paper() -> Measured:
    ratios = figures(SECTION, "terrace over", "paper")
    least = min(ratios, key=lambda figure: figure.median)
    lines = [f"{least.median:.0f}x and more; the least {_named(least)}"]
    for kind in ("horizontal", "vertical as area", "vertical as column"):
        values = sorted(figure.median for figure in ratios if figure.series.startswith(kind))
        lines.append(f"{kind}: {values[0]:.0f}x to {values[-1]:.0f}x")
    every = sorted(figure.median for figure in figures(SECTION, "terrace over", "paper-all"))
    lines.append(f"where it computes its vectors anew as a whole: {every[0]:.0f}x to {every[-1]:.0f}x")
    return Measured("\n".join(lines), least.median >= LEAST_RATIO)


LINES = [
    Line(
        "malloc-test, 1 to 2 threads",
        f"time a request and thread grows by at most {MOST_GROWTH:.0f} % (fastest rounds, every configuration)",
        growth,
    ),
    Line(
        "malloc-test, 4 and 8 threads",
        f"total throughput does not fall below that of 2 threads (by more than {NOISE:.0%}, taken for noise; best "
        "rounds, every configuration)",
        throughput,
    ),
    Line(
        "malloc-test, the paper's algorithm",
        f"at least {LEAST_RATIO:.0f}x its throughput in every configuration, where it updates only what changed",
        over_paper,
    ),
]
