# SPDX-License-Identifier: Apache-2.0
"""Measures a program with and without Terrace in interleaved pairs of runs, until the gain is precise, a limit is
reached or a signal arrives. `terrace compare` prints the result."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from terrace.errors import TerraceError
from terrace.lab import native
from terrace.lab.failed_run import AlikeError, FailedRunError
from terrace.lab.surroundings import Surroundings
from terrace.output import progress
from terrace.solve import paired

_MAX_OUTPUT_BYTES = 1 << 16  # bytes of each run's output that are kept; the digest covers all


@dataclass
class Variant:
    """The runs of one variant, with or without Terrace."""

    command: list[str]
    environment: dict[str, str]
    is_terrace: bool
    times: list[float] = field(default_factory=list)  # elapsed seconds
    processor: list[float] = field(default_factory=list)  # processor seconds of all processes
    outputs: list[str] = field(default_factory=list)  # digests
    reports: list[dict[str, Any]] = field(default_factory=list)  # Terrace's final reports

    def run(self, around: Surroundings) -> None:
        """Runs the variant once more. Raises TerraceError if the run fails."""
        done = native.run_whole(self.command, self.environment, around, max_output=_MAX_OUTPUT_BYTES)
        report = native.report_of(done.stderr) if self.is_terrace else None
        if done.status != around.status or (self.is_terrace and report is None):
            raise FailedRunError(done, report, self.is_terrace)
        self.times.append(done.sample.wall)
        self.processor.append(done.sample.processor)
        self.outputs.append(done.digest)
        if report is not None:
            self.reports.append(report)

    def truncate(self, count: int) -> None:
        """Discards all but the first `count` runs."""
        for of_runs in (self.times, self.processor, self.outputs, self.reports):
            del of_runs[count:]

    @property
    def seconds(self) -> float:
        """Returns the median time of the runs."""
        return statistics.median(self.times)


@dataclass(frozen=True)
class Comparison:
    """Both variants, and the current estimate of the gain."""

    without: Variant
    with_it: Variant
    gain: paired.Gain
    is_known: bool | None  # whether the precision is reached; None: the number of pairs was given

    @property
    def pairs(self) -> int:
        """Returns the number of complete pairs."""
        return len(self.with_it.times)

    @property
    def is_output_the_same(self) -> bool | None:
        """Returns whether the outputs agree; None if the program's own output varies between runs, or is not known
        to be constant."""
        plain = set(self.without.outputs)
        return None if len(plain) > 1 or self.pairs < 2 else set(self.with_it.outputs) == plain

    @property
    def num_different(self) -> int:
        """Returns the number of runs with Terrace whose output differs from those without."""
        return sum(output not in self.without.outputs for output in self.with_it.outputs)

    @property
    def nothing_placed(self) -> bool:
        """Returns whether Terrace found nothing to place in any run."""
        keys = ("file", "over_file", "by_intent")
        return not any(report.get(key) for report in self.with_it.reports for key in keys)

    @property
    def predicted(self) -> float | None:
        """Returns the gain that the runs with Terrace predict themselves; None if they do not."""
        shares = [
            share
            for report, seconds in zip(self.with_it.reports, self.with_it.times, strict=True)
            if (share := native.predicted_gain(report, seconds)) is not None
        ]
        return statistics.median(shares) if shares else None

    @property
    def paging(self) -> dict[str, float] | None:
        """Returns the medians of the bytes read and written and of the seconds waited; None without --memory."""
        reports = [
            report["over_file"] for report in self.with_it.reports if "read_bytes" in report.get("over_file", {})
        ]
        keys = ("read_bytes", "written_bytes", "threads_waited_s")
        return {key: statistics.median(report[key] for report in reports) for key in keys} if reports else None

    @property
    def notes(self) -> list[str]:
        """Returns Terrace's notes about its runs, without duplicates."""
        return list(dict.fromkeys(note for report in self.with_it.reports for note in report.get("notes", ())))


class _Terminated(KeyboardInterrupt):
    """Termination by a signal other than SIGINT."""


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP, which batch systems send, into an interrupt."""

    def end(number: int, _: object) -> NoReturn:
        raise _Terminated(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Outcome:
    """Result of the measurement, and why it ended."""

    found: Comparison | None  # if None: no complete pair
    signal: int | None = None  # signal that interrupted it
    failure: TerraceError | None = None


def measure(
    without: Variant,
    with_it: Variant,
    around: Surroundings,
    pairs: int | None,
    precision: float,
    minutes: float | None,
) -> Outcome:
    """Runs pairs until the gain is known or a limit is reached."""
    begun = time.monotonic()
    most = paired.LOOKS[-1] if pairs is None else pairs
    done, by, failure = 0, None, None
    try:
        with progress("pairs of runs", most) as steps:
            while done < most and (done == 0 or minutes is None or time.monotonic() - begun < 60 * minutes):
                # Alternate the order, so that effects of one run on the next affect both variants alike.
                for variant in (with_it, without) if done % 2 == 0 else (without, with_it):
                    variant.run(around)
                done += 1
                steps.done()
                if (
                    pairs is None
                    and done in paired.LOOKS
                    and _evaluate(without, with_it, done, precision).is_known
                ):
                    break
    except _Terminated as ended:
        by = int(ended.args[0])
    except KeyboardInterrupt:
        by = signal.SIGINT
    except FailedRunError as error:
        failure = _with_cause(error, without, around, done)
    if done == 0:
        return Outcome(None, by, failure)
    return Outcome(_evaluate(without, with_it, done, precision if pairs is None else None), by, failure)


def _with_cause(error: FailedRunError, without: Variant, around: Surroundings, done: int) -> TerraceError:
    """Returns the failure, with the number of the run, and whether it also happens without Terrace."""
    if error.is_own:
        return error
    number = f"run {done + 1}"
    if not error.is_terrace:
        return TerraceError(f"without Terrace, {error} ({number})")
    if not without.times:
        try:
            without.run(around)
        except FailedRunError as same:
            is_usual = same.of_program == error.of_program > 0
            return AlikeError(
                f"{same} ({number}, without Terrace as well as with it)", same.of_program if is_usual else None
            )
    return TerraceError(f"with Terrace, {error} ({number}; without it a run ended well)")


def _evaluate(without: Variant, with_it: Variant, done: int, precision: float | None) -> Comparison:
    """Evaluates the first `done` pairs. `precision`: a share, if this is one of several looks; else None."""
    for variant in (without, with_it):
        variant.truncate(done)  # the last pair may be incomplete
    pairs = [paired.Pair(*times) for times in zip(without.times, with_it.times, strict=True)]
    if precision is None:
        return Comparison(without, with_it, paired.gain(pairs), None)
    look = next(number for number, count in enumerate(paired.LOOKS) if done <= count)
    gain = paired.gain(pairs, paired.error_probability_at(look))
    return Comparison(without, with_it, gain, gain.is_known(precision))
