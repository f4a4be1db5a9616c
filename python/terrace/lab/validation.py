# SPDX-License-Identifier: Apache-2.0
"""Holds the data and draws the page of `terrace lab validate`: programs, the core times that they used, and
errors."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from terrace import units
from terrace.errors import TerraceError
from terrace.lab.calibrating import TIME, Calibrated
from terrace.report import charts, parts
from terrace.solve import calibration
from terrace.solve.calibration import Sample, Start, Virtual
from terrace.solve.core_times import PhaseFit, PhaseFits

_NO_SIZE = "no size for calibration is stated"


@dataclass(frozen=True)
class Case:
    """A program, its arguments, and the pattern of its printed time."""

    name: str
    measure: list[str]
    calibrate: list[str] | None
    time: str = TIME


@dataclass(frozen=True)
class Row:
    """Seconds of the timed part: native (median and spread of the repetitions) and virtual."""

    workload: str
    threads: int
    clock: str  # "printed": the timed section; "process"
    native: float
    spread: float  # maximum minus minimum
    virtual: float
    error: float  # (virtual - native) / native
    core_time: float | None  # seconds per instruction, fitted; None: the machine's


@dataclass(frozen=True)
class Constants:
    """Core times of a program: the machine's, and the calibrated one; None without a calibration size."""

    default: float
    found: Calibrated[PhaseFits] | None

    @property
    def core_time(self) -> float | None:
        """Returns the program's own core time, in seconds per instruction, or None if the machine's is used."""
        return self.found.constant.core_time if self.found is not None else None

    @property
    def phases(self) -> list[PhaseFit]:
        """Returns the fits of all phases, with and without a core time of their own."""
        return self.found.fits.phases if self.found is not None and self.found.fits is not None else []

    @property
    def why(self) -> str:
        """Returns what the constant is based on, or why it is the machine's."""
        return self.found.constant.why if self.found is not None else _NO_SIZE

    def options(self) -> list[str]:
        """Returns the options of `terrace simulate`."""
        return self.found.options() if self.found is not None else []

    def document(self) -> dict[str, Any]:
        """Returns the JSON document of `terrace lab validate`."""
        constant = self.found.constant if self.found is not None else None
        interval = constant.interval if constant is not None else None
        return {
            "from": "default" if self.core_time is None else "calibrated",
            "core_time": self.default if self.core_time is None else self.core_time,
            "interval": None if interval is None else [interval.low, interval.high],
            "runs": 0 if constant is None else constant.runs,
            "clock": None if constant is None else constant.clock,
            "why": self.why,
            "phases": [asdict(phase) for phase in self.phases],
        }


def row(
    name: str, threads: int, samples: Sequence[Sample], virtual: Virtual, core_time: float | None, start: Start
) -> Row:
    """Compares times by the finest usable clock: the printed time if precise enough, else the whole process.

    A process with several threads is timed by wall clock, because its processor time is not elapsed time. One with
    a single thread is timed as a whole, too, if other programs had the processor in most of its runs.
    """
    quiet = calibration.undisturbed(samples)
    clock = calibration.clock(samples)
    if threads == 1 and not calibration.has_enough(quiet, samples):
        clock = "process"
    printed = clock == "printed"
    took = virtual.printed if printed else virtual.process
    if took is None:
        raise TerraceError(
            f"{name} printed no time under terrace simulate; let it print the time of its main loop"
        )
    waited_least = quiet or samples  # wall clocks of disturbed runs are unreliable
    if printed:
        times = [calibration.number(one.printed) for one in waited_least if one.printed is not None]
        middle = statistics.median(times)
    elif threads > 1:
        times = [one.wall for one in waited_least]
        middle = statistics.median(times)
    else:
        times = [one.processor for one in samples]
        middle = calibration.native_time(samples, clock, start).middle
    error = (took - middle) / middle
    return Row(name, threads, clock, middle, max(times) - min(times), took, error, core_time)


def constants_table(constants: Mapping[str, Constants]) -> tuple[list[str], list[list[str]]]:
    """Returns headings and rows: the constant of each program, its spread, and the reason."""
    lines = []
    for name, one in constants.items():
        document = one.document()
        interval = one.found.constant.interval if one.found is not None and one.core_time is not None else None
        spread = "" if interval is None else f"+-{interval.spread:.1%}"
        lines.append([name, document["from"], units.seconds(document["core_time"]), spread, one.why])
    return ["program", "constant", "core time", "spread", "why"], lines


def page(rows: Sequence[Row], constants: Mapping[str, Constants]) -> str:
    """Returns the page: errors by program with a mark per number of threads, and the table of constants.

    Whiskers show the error's range due to the spread of the native runs.
    """
    names = list(dict.fromkeys(row.workload for row in rows))
    counts = sorted({row.threads for row in rows})
    figure = charts.figure(120 + 44 * len(names), showlegend=len(counts) > 1)
    for index, threads in enumerate(counts):
        group = [row for row in rows if row.threads == threads]
        shift = (index - (len(counts) - 1) / 2) * 0.5 / len(counts)
        lowest = [row.virtual / (row.native + row.spread / 2) - 1 for row in group]
        highest = [row.virtual / max(row.native - row.spread / 2, row.native / 10) - 1 for row in group]
        figure.add_scatter(
            x=[row.error for row in group],
            y=[names.index(row.workload) + shift for row in group],
            customdata=[(row.workload, row.native, row.virtual) for row in group],
            hovertemplate="%{customdata[0]}: native %{customdata[1]:.4g} s, virtual %{customdata[2]:.4g} s",
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - row.error for row, high in zip(group, highest, strict=True)],
                "arrayminus": [row.error - low for row, low in zip(group, lowest, strict=True)],
                "thickness": 1,
            },
            mode="markers",
            marker={"size": 9, "color": (charts.FAST, charts.SLOW, charts.GOOD, charts.BOUND)[index % 4]},
            name=f"{threads} thread{'s' if threads > 1 else ''}",
        )
    figure.add_vrect(x0=-0.2, x1=0.2, fillcolor=charts.BAND, layer="below", line_width=0)
    figure.add_vline(x=0, line={"color": charts.SOFT, "width": 1})
    figure.update_xaxes(title="virtual less native time, of native time; grey: within 20 %", tickformat="+.0%")
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, autorange="reversed", automargin=True, ticks=""
    )
    mean = units.percent(statistics.fmean(abs(row.error) for row in rows))
    words = "Error of each program; whiskers show the effect of the native runs' spread."
    title = f"Virtual time against the clock: mean absolute error {mean}"
    headings, lines = constants_table(constants)
    about = "Core time per instruction: the constant of each program, and its basis"
    below = parts.details(about, headings, lines, (0, 1, 4))
    figure_text = charts.embed("errors", words, figure)
    return parts.document(
        title, f"<header><h1>{title}</h1></header>\n<main><figure>{figure_text}</figure>\n{below}</main>"
    )
