"""`terrace compare`: measure a program with and without Terrace, by turns."""

from __future__ import annotations

import hashlib
import json as json_text
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace.errors import TerraceError, WrongCallError
from terrace.lab import native
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
_INTERRUPTED = 130  # exit status
# Of `terrace run`: what it writes beside the program is not looked at here, and what it says is.
_REFUSED = ("-o", "--output", "-q", "--quiet", "--json", "--keep-journals", "--help", "-h")
_DOCUMENT = '{"schema":'  # how the line begins
_OVER_FILE = ("--memory",)  # without -o such a run writes no profile


@dataclass
class _Way:
    """What became of the runs of one way."""

    command: list[str]
    times: list[float] = field(default_factory=list)  # seconds, from start to end
    processor: list[float] = field(default_factory=list)  # seconds of all processes
    outputs: list[str] = field(default_factory=list)  # their hashes
    accounts: list[dict[str, Any]] = field(default_factory=list)  # what Terrace says at the end

    def run(self, around: Surroundings) -> None:
        """Once more."""
        done = native.run_whole(self.command, around=around)
        account = _account(done.complained)
        if done.status != around.status:
            raise _failed(done, self.command, account)
        self.times.append(done.sample.wall)
        self.processor.append(done.sample.processor)
        self.outputs.append(hashlib.sha256(done.said.encode()).hexdigest())
        if account is not None:
            self.accounts.append(account)

    def keep(self, count: int) -> None:
        """Only the first runs."""
        for of_runs in (self.times, self.processor, self.outputs, self.accounts):
            del of_runs[count:]

    @property
    def seconds(self) -> float:
        """The median of its runs."""
        return statistics.median(self.times)


@dataclass(frozen=True)
class _Compared:
    """Both ways, and what is known by now."""

    without: _Way
    with_it: _Way
    gain: paired.Gain
    is_known: bool | None  # None: nobody asked, as the number of pairs was given

    @property
    def pairs(self) -> int:
        return len(self.with_it.times)

    @property
    def is_output_the_same(self) -> bool | None:
        """None where the program's output differs from run to run without Terrace, too."""
        plain = set(self.without.outputs)
        return None if len(plain) > 1 else set(self.with_it.outputs) == plain

    @property
    def notes(self) -> list[str]:
        """What Terrace said of its runs, each once."""
        return list(dict.fromkeys(note for account in self.with_it.accounts for note in account.get("notes", ())))


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    # Options that are not this verb's are those of `terrace run`.
    settings = {"allow_interspersed_args": True, "ignore_unknown_options": True}
    app.command("compare", epilog=_EPILOG, context_settings=settings)(compare)


def compare(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[OPTIONS of terrace run] -- PROGRAM...", help="What is run, and how."),
    ],
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each way; default: until the gain is known, 7 to 40.")
    ] = None,
    precision: Annotated[
        float, typer.Option(min=0.01, help="Per cent: a gain is known when it is so, or a quarter, certain.")
    ] = 1.0,
    minutes: Annotated[float | None, typer.Option(min=0, help="Begin no pair after so many.")] = None,
    stdin: Annotated[
        Path | None, typer.Option(help="What the program reads from standard input; default: nothing.")
    ] = None,
    inside: Annotated[
        Path | None,
        typer.Option("--in", help="Each run gets a folder with a copy of these files; default: the current one."),
    ] = None,
    status: Annotated[int, typer.Option(help="The exit status of a run that ended well.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Measure a program with and without Terrace, by turns: medians, the gain and how certain it is.

    The runs' standard output is compared and not shown. The time is that of the whole run, start and end included.
    """
    options, program = _divided(words, sys.argv)
    around = Surroundings(stdin, inside, status)
    with tempfile.TemporaryDirectory(prefix="terrace-compare-") as folder:
        profile = [] if any(word.split("=")[0] in _OVER_FILE for word in options) else ["-o", f"{folder}/profile"]
        under = [terrace_program(), "run", *options, "--json", *profile, "--", *program]
        found, interrupted = _measured(_Way(program), _Way(under), around, pairs, precision / 100, minutes)
    if found is None:
        raise typer.Exit(_INTERRUPTED)
    if json:
        print_json(_document(found))
    else:
        _print(found)
    if interrupted:
        raise typer.Exit(_INTERRUPTED)


def _divided(words: Sequence[str], given: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of `terrace run`, and the program with its arguments: what stands behind the first "--" of the
    call, which the parser drops. Raises WrongCallError."""
    if "--" not in given:
        raise WrongCallError("compare: put -- before the program: terrace compare -- ./app")
    count = len(given) - 1 - given.index("--")
    if count == 0:
        raise WrongCallError("compare: there is no program behind --")
    options, program = list(words[:-count]), list(words[-count:])
    for word in options:
        if word.split("=")[0] in _REFUSED:
            raise WrongCallError(f"compare: {word} is for terrace run, not for its runs here; compare has --json")
    return options, program


def _measured(
    without: _Way,
    with_it: _Way,
    around: Surroundings,
    pairs: int | None,
    precision: float,
    minutes: float | None,
) -> tuple[_Compared | None, bool]:
    """Runs pairs until it knows, or may no longer; and whether it was interrupted. None: before the first pair."""
    begun = time.monotonic()
    most = paired.LOOKS[-1] if pairs is None else pairs
    done, interrupted = 0, False
    try:
        with progress("pairs of runs", most) as steps:
            while done < most and (done == 0 or minutes is None or time.monotonic() - begun < 60 * minutes):
                # Who runs first changes: what one leaves behind for the other is both's.
                for way in (with_it, without) if done % 2 == 0 else (without, with_it):
                    way.run(around)
                done += 1
                steps.done()
                if pairs is None and done in paired.LOOKS and _looked(without, with_it, done, precision).is_known:
                    break
    except KeyboardInterrupt:
        interrupted = True
    if done == 0:
        return None, interrupted
    return _looked(without, with_it, done, precision if pairs is None else None), interrupted


def _looked(without: _Way, with_it: _Way, done: int, precision: float | None) -> _Compared:
    """What so many pairs say. `precision`: a share, where one look of several asks whether that is enough."""
    for way in (without, with_it):
        way.keep(done)  # the last pair may have been interrupted
    pairs = [paired.Pair(*times) for times in zip(without.times, with_it.times, strict=True)]
    if precision is None:
        return _Compared(without, with_it, paired.gain(pairs), None)
    look = next(number for number, count in enumerate(paired.LOOKS) if done <= count)
    gain = paired.gain(pairs, paired.chance_at(look))
    return _Compared(without, with_it, gain, gain.is_known(precision))


def _failed(done: native.Run, command: Sequence[str], account: dict[str, Any] | None) -> TerraceError:
    """Of a run that did not end well: what its last line says. Where Terrace refused its options, that line."""
    lines = [line for line in done.complained.splitlines() if not line.startswith(_DOCUMENT)]
    last = lines[-1] if lines else "it said nothing on standard error"
    how = f"by signal {-done.status}" if done.status < 0 else f"with {done.status}"
    if command[0] != terrace_program():
        return TerraceError(f"{' '.join(command)} ended {how}: {last}")
    if account is None and done.status == WrongCallError.status and last.startswith("terrace: "):
        return WrongCallError(last.removeprefix("terrace: "))
    return TerraceError(f"with Terrace, the program ended {how}: {last}")


def _account(complained: str) -> dict[str, Any] | None:
    """The document that Terrace writes at the end, behind what the program wrote to standard error."""
    for line in reversed(complained.splitlines()):
        if line.startswith(_DOCUMENT):
            return dict(json_text.loads(line))
    return None


# --- what is said -----------------------------------------------------------------------------------------------


def _print(found: _Compared) -> None:
    rows = table("", "seconds", "least", "most", "processor", title=None)
    for name, way in (("without", found.without), ("with", found.with_it)):
        rows.add_row(
            name,
            *(f"{seconds:.3f}" for seconds in (way.seconds, min(way.times), max(way.times))),
            f"{statistics.median(way.processor):.3f}",
        )
    console().print(rows)
    console().print(_sentence(found))
    for note in found.notes:
        warn(note)
    if found.is_output_the_same is False:
        warn("warning: what the program writes to standard output differs with Terrace")


def _sentence(found: _Compared) -> str:
    """The gain in words."""
    gain, many = found.gain, "1 pair" if found.pairs == 1 else f"{found.pairs} pairs"
    word, sign = ("gained", 100) if gain.share >= 0 else ("lost", -100)
    amount = f"{word} {sign * gain.share:.1f} %"
    if gain.low is None or gain.high is None:
        return f"{amount} in {many} of runs: too few to say how certain that is, which takes 6"
    if not gain.is_beyond_noise:
        between = f"between {_signed(gain.low)} and {_signed(gain.high)}"
        return f"no gain or loss beyond noise: {between} with 95 % certainty, {many} of runs"
    least, most = sorted((sign * gain.low, sign * gain.high))
    return f"{amount} ({least:.1f} to {most:.1f} % with 95 % certainty, {many} of runs)"


def _signed(share: float) -> str:
    return f"{'a loss' if share < 0 else 'a gain'} of {100 * abs(share):.1f} %"


def _document(found: _Compared) -> dict[str, Any]:
    def of(way: _Way) -> dict[str, Any]:
        return {"median_s": way.seconds, "times_s": way.times, "processor_s": way.processor}

    return {
        "pairs": found.pairs,
        "gain": found.gain.share,
        "low": found.gain.low,
        "high": found.gain.high,
        "confidence": paired.CONFIDENCE,
        "beyond_noise": found.gain.is_beyond_noise,
        "known": found.is_known,
        "same_output": found.is_output_the_same,
        "without": of(found.without),
        "with": {**of(found.with_it), "accounts": found.with_it.accounts},
        "notes": found.notes,
    }
