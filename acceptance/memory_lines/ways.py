"""Defines the ways to run a program with more data than memory, Terrace's and the kernel's: how they run, and
which times count. study.py runs them."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, SETTINGS, TERRACE

from memory_lines.limits import Run, run_limited, swap_file

BENCH = ROOT / "build" / "release" / "bench" / "bin"
MIB = 1 << 20
LIMIT_OF_SWAP = 4096 * MIB
OURS = "terrace"
MAPPINGS = ("mapping", "mapping, sequential")
WAYS = (OURS, "swap", *MAPPINGS)
FAR = 3.0  # times Terrace's time: ways that are slower than this are run once
CLOSE = 1.3  # times what the faster mapping took: the slower one is run again only where it took less
SHORT = 1.0  # seconds; of a run that ended sooner, what others moved meanwhile may be most of the disk's bytes

STOPPED, KILLED, OTHER_RESULTS = "stopped", "killed", "other results"  # how a run may end, beside its status


@dataclass(frozen=True)
class TrialResult:
    """One run of a program in one of the ways."""

    seconds: float  # until it ended, or was ended
    why: str = ""  # it did not end as it should; "" where it did
    counts: float | None = None  # seconds; None where its time says nothing
    read: int | None = None  # bytes of the disk, by the kernel's account; None where there is none
    written: int | None = None


def folder() -> Path:
    """Returns the folder of files and swap."""
    return Path(SETTINGS.disk_folder)


@contextlib.contextmanager
def _called(way: str, budget: int, command: Sequence[str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yields the program's command and its environment in a way."""
    with tempfile.TemporaryDirectory(dir=folder(), prefix="terrace-memory-") as name:
        own = Path(name)
        if way == OURS:
            words = [str(TERRACE), "run", "--json", "--memory", str(budget), "--spill", name]
            yield [*words, "-o", str(own / "run.terrace"), "--", *command], {}
        elif way == "swap":
            with swap_file(own / "swap", LIMIT_OF_SWAP):
                yield list(command), {}
        else:
            advice = {"MAPPED_ADVICE": "sequential"} if way.endswith("sequential") else {}
            yield list(command), {"LD_PRELOAD": str(BENCH / "libmapped.so"), "MAPPED_DIR": name, **advice}


def run_in(way: str, budget: int, command: Sequence[str], timeout: float) -> Run:
    """Runs a way with so many bytes of memory."""
    with _called(way, budget, command) as (words, env):
        return run_limited(words, budget, env, timeout, folder())


def judged(way: str, done: Run, timeout: float, is_right: bool) -> TrialResult:
    """Determines the time that a run counts as. A rival that was stopped counts as `timeout`, the time that it has
    run. A rival that the out-of-memory killer ended has no time, nor has any other failure, nor any of Terrace's
    own."""
    counts: float | None = None
    if done.status is None:
        why = STOPPED
        counts = None if way == OURS else timeout
    elif done.status != 0:
        why = KILLED if done.killed else f"status {done.status}"
    elif not is_right:
        why = OTHER_RESULTS
    else:
        why, counts = "", done.seconds
    moved = (done.disk.read, done.disk.written) if done.disk else (None, None)
    return TrialResult(done.seconds, why, counts, *moved)


def _fastest(runs: Sequence[TrialResult]) -> float | None:
    return min((one.counts for one in runs if one.counts is not None), default=None)


def patience(tried: Mapping[str, Sequence[TrialResult]]) -> float:
    """Returns the seconds after which a rival is stopped, because it has lost by far."""
    return max(30.0, float(SETTINGS.patience) * (_fastest(tried[OURS]) or 0.0))


def is_run_again(way: str, tried: Mapping[str, Sequence[TrialResult]]) -> bool:
    """Returns whether more runs of it can change its result. A killed program may end by itself the next time."""
    own = tried[way]
    best, ours = _fastest(own), _fastest(tried[OURS])
    if way == OURS or best is None or ours is None or any(one.why == KILLED for one in own):
        return True
    if best > FAR * ours:
        return False
    if way not in MAPPINGS:
        return True
    others = [tried[each][0].counts for each in MAPPINGS if each != way and tried[each]]
    first = own[0].counts
    return first is None or all(other is None or first < CLOSE * other for other in others)


def counted(way: str, runs: Sequence[TrialResult]) -> float | None:
    """Returns the median of the seconds that count. It is None if a run failed, or a rival was killed in every
    repetition; the others count if it was killed in some. Of two in the middle it takes the one that is worse for
    Terrace."""
    times = [one.counts for one in runs if way == OURS or one.why != KILLED]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return None
    return statistics.median_high(known) if way == OURS else statistics.median_low(known)


def reasons(runs: Sequence[TrialResult]) -> str:
    """Returns the reasons of failed runs, each once."""
    return ", ".join(dict.fromkeys(one.why for one in runs if one.why))


def reached(runs: Iterable[TrialResult]) -> dict[str, float]:
    """Returns the largest bytes a second of the disk in one of the runs: read, written, both; 0 without
    counters."""
    best = {"read": 0.0, "write": 0.0, "both": 0.0}
    for one in runs:
        if one.read is None or one.written is None or one.seconds < SHORT:
            continue
        for key, moved in (("read", one.read), ("write", one.written), ("both", one.read + one.written)):
            best[key] = max(best[key], moved / one.seconds)
    return best
