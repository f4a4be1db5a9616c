# SPDX-License-Identifier: Apache-2.0
"""`terrace compare`: measure a program with and without Terrace in interleaved runs."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import units
from terrace.describe import former_options
from terrace.errors import WrongCallError
from terrace.lab.comparison import Comparison, Outcome, Variant, measure, signals_as_interrupts
from terrace.lab.failed_run import AlikeError
from terrace.lab.study import terrace_program
from terrace.lab.surroundings import Surroundings
from terrace.output import console, print_json, table, warn
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
                f"compare: {name} is set: both variants would use Terrace; unset it, "
                "or call compare outside of `terrace run`"
            )
    around = Surroundings(stdin, inside, status or 0)
    with tempfile.TemporaryDirectory(prefix="terrace-compare-") as folder, signals_as_interrupts():
        under = [terrace_program(), "run", "--json", *options, "--", *program]

        def measured(around: Surroundings) -> Outcome:
            variants = Variant(program, {}, False), Variant(under, {_PROFILES: folder}, True)
            return measure(*variants, around, pairs, precision / 100, minutes)

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


# --- output -----------------------------------------------------------------------------------------------------


def _print(found: Comparison, precision: float) -> None:
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


def _print_gain(found: Comparison, precision: float) -> None:
    console().print(_sentence(found))
    if found.paging is not None:
        read, written = (units.size(found.paging[key]) for key in ("read_bytes", "written_bytes"))
        waited = units.seconds(found.paging["threads_waited_s"])
        console().print(
            f"With Terrace a run read {read} and wrote {written}, and its threads waited {waited} for that; page "
            "faults and eviction cost processor time as well (medians)"
        )
    elif found.predicted is not None:
        console().print(f"By the plan's prediction, it {_format_gain(found.predicted)}")
    if found.is_known is False and found.gain.low is not None:
        console().print(f"below the requested precision (--precision {precision:g}, or a quarter of the gain)")


def _sentence(found: Comparison) -> str:
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


def _document(found: Comparison) -> dict[str, Any]:
    """Returns the result as JSON."""

    def of(variant: Variant) -> dict[str, Any]:
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
