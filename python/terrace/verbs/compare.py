# SPDX-License-Identifier: Apache-2.0
"""`terrace compare`: measure a program with and without Terrace in interleaved runs."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from terrace.describe import former_options
from terrace.errors import TerraceError, WrongCallError
from terrace.lab import native
from terrace.lab.failed_run import AlikeError, FailedRunError
from terrace.lab.study import terrace_program
from terrace.lab.surroundings import Surroundings
from terrace.output import console, print_json, progress, table, warn
from terrace.solve import paired

_EPILOG = """\b
Examples:
  terrace compare -- ./app
  terrace compare --memory 4GiB --spill /scratch -- ./app
  terrace compare --plan app.toml --pairs 6 --json -- mpirun -n 4 ./app
"""
# Options of `terrace run` that compare defines itself or cannot use.
_REJECTED = ("--output", "--quiet", "--json", "--keep-journals", "--help")
_REJECTED_LETTERS = "oqh"
_PROFILES = "TERRACE_PROFILES"  # folder for profiles without a name
_MAX_OUTPUT_BYTES = 1 << 16  # bytes of each run's output that are kept; the digest covers all


@dataclass
class _Variant:
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
class _Comparison:
    """Both variants, and the current estimate of the gain."""

    without: _Variant
    with_it: _Variant
    gain: paired.Gain
    is_known: bool | None  # whether the precision is reached; None: the number of pairs was given

    @property
    def pairs(self) -> int:
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
    def notes(self) -> list[str]:
        """Returns Terrace's notes about its runs, without duplicates."""
        return list(dict.fromkeys(note for report in self.with_it.reports for note in report.get("notes", ())))


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    # Unknown options are passed to `terrace run`.
    settings = {**former_options({"in": "input-dir"}), "ignore_unknown_options": True}
    app.command("compare", epilog=_EPILOG, context_settings=settings)(compare)


def compare(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OPTIONS of terrace run] -- PROGRAM...", help="Program to run, and options."),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=1, max=paired.MAX, help="Pairs of runs; default: until the gain is precise, 7 to 40."),
    ] = None,
    precision: Annotated[
        float,
        typer.Option(min=0.01, help="Stop at this confidence interval, +- per cent, or at a quarter of the gain."),
    ] = 1.0,
    minutes: Annotated[float | None, typer.Option(min=0, help="Start no new pair after this time.")] = None,
    stdin: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Standard input of each run; default: empty."),
    ] = None,
    inside: Annotated[
        Path | None,
        typer.Option(
            "--input-dir",
            exists=True,
            file_okay=False,
            help="Run each time in a new folder with a copy of these files; default: the current folder.",
        ),
    ] = None,
    status: Annotated[
        int | None,
        typer.Option(
            min=-64,
            max=255,
            help="Expected exit status; negative: a signal. Default: 0, or the status of the program both with "
            "and without Terrace.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a program with and without Terrace in interleaved runs: medians, the gain, its confidence interval.

    Standard output of the runs is compared and not shown. Times include start and end of the process.
    """
    options, program = _split_command(words or [], sys.argv)
    for name in ("TERRACE", "TERRACE_SESSION"):
        if os.environ.get(name):
            raise WrongCallError(
                f"compare: {name} is set: both variants would use Terrace; unset it, or run this outside"
            )
    around = Surroundings(stdin, inside, status or 0)
    with tempfile.TemporaryDirectory(prefix="terrace-compare-") as folder, _signals_as_interrupts():
        under = [terrace_program(), "run", "--json", *options, "--", *program]

        def measured(around: Surroundings) -> _Outcome:
            variants = _Variant(program, {}, False), _Variant(under, {_PROFILES: folder}, True)
            return _measure(*variants, around, pairs, precision / 100, minutes)

        ended = measured(around)
        if status is None and isinstance(ended.failure, AlikeError) and ended.failure.of_both is not None:
            usual = ended.failure.of_both
            warn(f"the program ends with {usual} with and without Terrace: using it as the expected exit status")
            ended = measured(Surroundings(stdin, inside, usual))
    if ended.found is not None and json:
        print_json(_document(ended.found))
    elif ended.found is not None:
        _print(ended.found, precision)
    if ended.failure is not None:
        raise ended.failure
    if ended.signal is not None:
        raise typer.Exit(128 + ended.signal)


def _split_command(words: Sequence[str], given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the options of `terrace run`, and the program with its arguments.

    The program follows the first "--" of the call, which the parser removes. Raises WrongCallError.
    """
    if "--" not in given:
        raise WrongCallError("compare: put -- before the program: terrace compare -- ./app")
    count = len(given) - 1 - given.index("--")
    if count == 0:
        raise WrongCallError("compare: the program after -- is missing: terrace compare -- ./app")
    options, program = list(words[:-count]), list(words[-count:])
    if options and not options[0].startswith("-"):
        raise WrongCallError(
            f"compare: '{options[0]}' precedes --, where only options of terrace run are allowed; "
            "put the program after --"
        )
    for word in options:
        short = word[1:2] if not word.startswith("--") else ""
        if word.split("=")[0] in _REJECTED or (word.startswith("-") and short and short in _REJECTED_LETTERS):
            raise WrongCallError(
                f"compare: {word} is valid for terrace run only: compare writes no profile; omit it"
            )
    return options, program


class _Terminated(KeyboardInterrupt):
    """Termination by a signal other than SIGINT."""


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
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
class _Outcome:
    """Result of the measurement, and why it ended."""

    found: _Comparison | None  # if None: no complete pair
    signal: int | None = None  # signal that interrupted it
    failure: TerraceError | None = None


def _measure(
    without: _Variant,
    with_it: _Variant,
    around: Surroundings,
    pairs: int | None,
    precision: float,
    minutes: float | None,
) -> _Outcome:
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
        return _Outcome(None, by, failure)
    return _Outcome(_evaluate(without, with_it, done, precision if pairs is None else None), by, failure)


def _with_cause(error: FailedRunError, without: _Variant, around: Surroundings, done: int) -> TerraceError:
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


def _evaluate(without: _Variant, with_it: _Variant, done: int, precision: float | None) -> _Comparison:
    """Evaluates the first `done` pairs. `precision`: a share, if this is one of several looks; else None."""
    for variant in (without, with_it):
        variant.truncate(done)  # the last pair may be incomplete
    pairs = [paired.Pair(*times) for times in zip(without.times, with_it.times, strict=True)]
    if precision is None:
        return _Comparison(without, with_it, paired.gain(pairs), None)
    look = next(number for number, count in enumerate(paired.LOOKS) if done <= count)
    gain = paired.gain(pairs, paired.error_probability_at(look))
    return _Comparison(without, with_it, gain, gain.is_known(precision))


# --- output -----------------------------------------------------------------------------------------------------


def _print(found: _Comparison, precision: float) -> None:
    if found.nothing_placed:
        # A factor would be mistaken for the gain of placement.
        warn("Terrace found nothing to place in this program: the difference is its start-up time")
    rows = table("", "seconds", "min", "max", "processor", title=None)
    for name, variant in (("without", found.without), ("with", found.with_it)):
        rows.add_row(
            name,
            *(f"{seconds:.3f}" for seconds in (variant.seconds, min(variant.times), max(variant.times))),
            f"{statistics.median(variant.processor):.3f}",
        )
    console().print(rows)
    if not found.nothing_placed:
        _print_gain(found, precision)
    for note in found.notes:
        warn(note)
    if found.is_output_the_same is False:
        warn(
            f"warning: standard output differs in {found.num_different} of {found.pairs} runs with Terrace, "
            f"and in none of {found.pairs} without; "
            "compare the outputs, and report wrong results as an error of Terrace"
        )


def _print_gain(found: _Comparison, precision: float) -> None:
    console().print(_sentence(found))
    if found.predicted is not None:
        console().print(f"Terrace's own accounting predicts: {_format_gain(found.predicted)}")
    if found.is_known is False and found.gain.low is not None:
        console().print(f"below the requested precision (--precision {precision:g}, or a quarter of the gain)")


def _sentence(found: _Comparison) -> str:
    """Returns the measured gain, and whether it is certain, in words."""
    gain, many = found.gain, "1 pair" if found.pairs == 1 else f"{found.pairs} pairs"
    amount = _format_gain(gain.share)
    if gain.low is None or gain.high is None:
        wrong = 1 - paired.CONFIDENCE if found.is_known is None else paired.error_probability_at(0)
        return (
            f"{amount} in {many} of runs: too few for a confidence interval, which takes {paired.min_pairs(wrong)}"
        )
    if not gain.is_beyond_noise:
        between = f"between {_format_signed(gain.low)} and {_format_signed(gain.high)}"
        return f"no gain or loss beyond noise: {between} with 95 % confidence, {many} of runs"
    ends = (gain.low, gain.high) if gain.share >= 0 else (gain.high, gain.low)
    interval = " to ".join(_format_share(end, gain.share) for end in ends)
    return f"{amount} ({interval} with 95 % confidence, {many} of runs)"


def _format_gain(share: float) -> str:
    if share < -1:
        return f"took {_format_share(share, share)} as long"
    return f"{'gained' if share >= 0 else 'lost'} {_format_share(share, share)}"


def _format_share(share: float, of: float) -> str:
    """Formats a share in the unit of the whole gain `of`: as a factor if that is a loss of more than 100 %."""
    return f"{1 - share:.1f} times" if of < -1 else f"{100 * abs(share):.1f} %"


def _format_signed(share: float) -> str:
    return f"{'a loss' if share < 0 else 'a gain'} of {100 * abs(share):.1f} %"


def _document(found: _Comparison) -> dict[str, Any]:
    """Returns the result as JSON."""

    def of(variant: _Variant) -> dict[str, Any]:
        return {"median_s": variant.seconds, "times_s": variant.times, "processor_s": variant.processor}

    return {
        "pairs": found.pairs,
        "gain": found.gain.share,
        "predicted_gain": found.predicted,
        "low": found.gain.low,
        "high": found.gain.high,
        "confidence": paired.CONFIDENCE,
        "beyond_noise": found.gain.is_beyond_noise,
        "known": found.is_known,
        "same_output": found.is_output_the_same,
        "without": of(found.without),
        "with": {**of(found.with_it), "accounts": found.with_it.reports},
        "notes": found.notes,
    }
