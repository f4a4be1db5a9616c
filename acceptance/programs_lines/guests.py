"""Runs unmodified programs on real memory of two kinds, in guests (virtual machines): Terrace profiles, plans,
migrates and compares, and the kernel reports where their pages are. A criterion of acceptance/programs.

What an emulated machine's iterations take says nothing of its memory: a gain or a loss is told, not judged, and a
plan may be undone; but what is said of it has to be what the journal's iterations give (proof.py). So each program
runs twice: as a user has it, for the proof, and with --keep-plan, so that the plan is in force to the end. In both
the journal has to say where pages are; in the second what the plan wants in near memory has to be there.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import ROOT, SETTINGS, Criterion, Measured, Unavailable, keep_part, run, workloads

from programs_lines import inputs, proof
from programs_lines.filters import filtered
from programs_lines.residence import compare, read_account, without_moves
from programs_lines.runs import scratch

sys.path.insert(0, str(ROOT / "tests" / "guest_bed"))
import vm

BUILD = ROOT / "build" / "release"
MACHINE = ROOT / "tests" / "guest" / "guest.toml"
JOBS = Path(__file__).parent / "guests.sh"
NODES = "256M:cpu:100ns:16384,1024M:400ns:2048"
NEAR, FAR = 0, 1  # nodes
NEAR_KIND = "ddr"  # of the machine file
PATIENCE = 1200.0  # seconds for a program's three runs, which take 30 to 300
PROVED, KEPT = "proved", "kept"
MIN_SAMPLES = 20  # with the plan in force, else nothing was seen
MIN_SHARE = 0.95  # of the pages that the plan wants in near memory: the others are absent

Row = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """`near` is less than its arrays, all of which are of 4 MiB and more: smaller ones are not watched."""

    name: str
    near: str
    words: tuple[str, ...]
    make: Callable[[Path], None] | None = None  # its input

    def command(self) -> list[str]:
        own = BUILD / "workloads" / self.name
        return [str(own) if self.name in workloads() else self.name, *self.words]

    def outcome(self, text: str) -> str:
        """Returns the output without times."""
        if self.name not in workloads():
            return filtered(self.name, text)
        times = workloads()[self.name].time_lines
        return "\n".join(line for line in text.splitlines() if not re.search(times, line))


PROGRAMS = (
    Program("cg", "12MiB", ("--class", "A", "--iterations", "30")),
    Program("mg", "24MiB", ("--class", "W", "--iterations", "24")),
    Program("hydro", "40MiB", ("--side", "640", "--steps", "24")),
    Program("lmp", "12MiB", ("-in", "in.lj", "-log", "none"), inputs.make_short_range_liquid),
)


@contextmanager
def _ran(program: Program) -> Iterator[Path]:
    """Runs the program in a guest; yields the folder of its results, which is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="terrace-programs-") as name:
        start, out = Path(name) / "start", Path(name) / "out"
        start.mkdir()
        if program.make:
            program.make(start)
        words = [str(JOBS), str(BUILD), str(MACHINE), program.name, program.near, *program.command()]
        _, said = vm.run(words, vm.parse_nodes(NODES), cwd=start, out=out, timeout=PATIENCE)
        if said:
            print(said, file=sys.stderr)
        yield out


def _single(store: sqlite3.Connection, query: str) -> Any:
    row = store.execute(query).fetchone()
    return row[0] if row else None


def _learned(store: sqlite3.Connection) -> Row:
    """Reads the profile's notes on its origin, its plans and its moves."""
    notes = [text for (text,) in store.execute("SELECT text FROM note")]
    watched = next(
        iter(re.findall(r"^no hooks: objects are watched by (\S+?),?(?: |$)", "\n".join(notes), re.M)), ""
    )
    loop = store.execute("SELECT name, why, iterations FROM loop ORDER BY iterations DESC").fetchone()
    name, why, iterations = loop or ("", "", 0)
    moved = _single(
        store,
        "SELECT SUM(move.size) FROM move JOIN run ON run.id = move.run "
        "JOIN place ON place.machine = run.machine AND place.id = move.target "
        f"WHERE NOT refused AND move.source != move.target AND place.numa_node = {NEAR}",
    )
    entries = re.search(r"\((.*)\)$", why)
    return {
        "watched_by": watched,
        "phases_from": ""
        if not loop
        else entries[1]
        if entries
        else "intervals"
        if "interval" in name
        else "markers",
        "iterations": iterations,
        "plans": _single(store, "SELECT COUNT(*) FROM plan"),
        "to_near": moved or 0,
    }


def _proof(store: sqlite3.Connection) -> Row | None:
    store.row_factory = sqlite3.Row
    row = store.execute("SELECT * FROM proof ORDER BY iterations_placed DESC").fetchone()
    return dict(row) if row else None


def _resides(folder: Path, program: Program, way: str) -> Row:
    """Compares the kernel's pages of a run with the journal and the plan."""
    name = f"{program.name}.{way}"
    account = read_account(folder / f"{name}.terrace", folder / f"{name}.audit", program.name, NEAR_KIND)
    found = compare(account, NEAR)
    return {
        **{key: value for key, value in vars(found).items() if key not in ("nodes", "problems")},
        "nodes": sorted(found.nodes),
        "problems": found.problems[:4],
        "without_moves": compare(without_moves(account), NEAR).elsewhere,
    }


def _measured(program: Program) -> Row:
    """Runs one program in a guest in three ways, and reads what each run said, where pages were and the proof."""
    with _ran(program) as folder:

        def left(way: str, kind: str) -> str:
            return (folder / f"{program.name}.{way}.{kind}").read_text(errors="replace")

        ways = ("plain", PROVED, KEPT)
        said = {way: program.outcome(left(way, "txt")) for way in ways}
        row: Row = {
            "program": program.name,
            "status": {way: int(left(way, "status")) for way in ways},
            "same": all(text == said["plain"] for text in said.values()) and bool(said["plain"].strip()),
        }
        for way in (PROVED, KEPT):
            with sqlite3.connect(folder / f"{program.name}.{way}.terrace") as store:
                row[way] = {**_learned(store), "proof": _proof(store)}
            row[way]["residence"] = _resides(folder, program, way)
            row[way]["said"] = [line for line in left(way, "errors").splitlines() if line.startswith("terrace: ")]
        with sqlite3.connect(folder / f"{program.name}.{PROVED}.terrace") as store:
            found = list(proof.proofs(store))
        row["not_proved"] = proof.wrong(found, row[PROVED]["said"])
        row["gains"] = [one.gain_by_iterations for one in found]
        return row


def _wrong(row: Row) -> Iterator[str]:
    """Yields where a program's row falls short, in any of its runs."""
    if any(row["status"].values()):
        yield f"ended with {row['status']}"
    if not row["same"]:
        yield "other output than without Terrace"
    for way in (PROVED, KEPT):
        for text in _wrong_way(row[way]):
            yield f"{way}: {text}"
    found = row[PROVED]["proof"]
    if not found or min(found["iterations_unplaced"], found["iterations_placed"]) == 0:
        yield "the plan was compared with nothing"
    for text in row["not_proved"]:
        yield f"{PROVED}: {text}"
    residence = row[KEPT]["residence"]
    if residence["in_force"] < MIN_SAMPLES:
        yield f"only {residence['in_force']} samples with the plan in force"
    elif residence["near"] + residence["far"] < MIN_SHARE * residence["wanted"]:
        yield f"of {residence['wanted']} pages that the plan wants in near memory most are nowhere"
    elif residence["far"]:
        yield (
            f"of {residence['near'] + residence['far']} pages that the plan wants in near memory "
            f"{residence['far']} are not there; {residence['refused']} of them were refused"
        )


def _wrong_way(way: Row) -> Iterator[str]:
    """Yields what is wrong with a watched run: its pages, phases, plans, moves and residence."""
    if not way["watched_by"]:
        yield "its pages were not watched"
    if way["phases_from"] in ("", "intervals"):
        yield f"phases: {way['phases_from'] or 'none'}"
    if way["plans"] == 0:
        yield "no plan"
    if way["to_near"] == 0:
        yield "nothing was moved to near memory"
    residence = way["residence"]
    if residence["elsewhere"]:
        yield f"{residence['elsewhere']} pages are not where the journal says: {residence['problems'][0]}"
    if residence["samples"] < MIN_SAMPLES or residence["nodes"] != [NEAR, FAR]:
        yield f"seen {residence['samples']} times, on the nodes {residence['nodes']}"
    if residence["without_moves"] == 0:
        yield "a journal without its moves would be as right"


def _shown(row: Row) -> Row:
    """Returns the row for the result page."""
    found, kept = row[PROVED]["proof"] or {}, row[KEPT]["residence"]
    both = [row[way]["residence"] for way in (PROVED, KEPT)]

    def gain(without: str, planned: str) -> str:
        return f"{100 * (1 - found[planned] / found[without]):+.1f} %" if found else "-"

    return {
        "program": row["program"],
        "same_output": "yes" if row["same"] else "no",
        "watched_by": row[PROVED]["watched_by"],
        "phases_from": row[PROVED]["phases_from"],
        "to_near_mib": " / ".join(f"{row[way]['to_near'] / 2**20:.1f}" for way in (PROVED, KEPT)),
        "predicted": gain("predicted_unplaced", "predicted"),
        "measured": gain("unplaced", "placed"),
        "by_iterations": " / ".join("-" if one is None else f"{100 * one:+.1f} %" for one in row["gains"]),
        "iterations": f"{found['iterations_placed']} / {found['iterations_unplaced']}" if found else "-",
        "undone": ("yes" if found["undone"] else "no") if found else "-",
        "samples": " / ".join(str(one["samples"]) for one in both),
        "pages_compared": sum(one["compared"] for one in both),
        "elsewhere": sum(one["elsewhere"] for one in both),
        "elsewhere_without_moves": sum(one["without_moves"] for one in both),
        "moving": sum(one["moving"] for one in both),
        "absent": sum(one["absent"] for one in both),
        "in_force": kept["in_force"],
        "wanted_near": kept["wanted"],
        "is_near": kept["near"],
        "is_far": kept["far"],
        "refused": kept["refused"],
    }


def _all() -> Measured:
    """Runs all chosen programs in guests, and states for each what was wrong."""
    if lacks := vm.missing():
        raise Unavailable("no guest here, for want of " + "; ".join(lacks))
    run(["cmake", "--build", "--preset", "release"], timeout=3600)
    chosen = [program for program in PROGRAMS if SETTINGS.program in program.name]
    rows: list[Row] = [
        keep_part(f"guests-{program.name}", functools.partial(_measured, program)) for program in chosen
    ]
    lines = []
    wrong = {row["program"]: list(_wrong(row)) for row in rows}
    for row in rows:
        shown = _shown(row)
        lines.append(
            f"{row['program']}: pages by {shown['watched_by']}, phases by {shown['phases_from']}, "
            f"{shown['to_near_mib']} MiB moved to near memory; measured {shown['measured']}, by the journal's "
            f"iterations {shown['by_iterations']}, predicted {shown['predicted']}, undone {shown['undone']}; "
            f"{shown['pages_compared']} pages compared in {shown['samples']} samples, {shown['elsewhere']} "
            f"elsewhere; plan in force in {shown['in_force']}, {shown['is_near']} of "
            f"{shown['is_near'] + shown['is_far']} pages near"
        )
        lines += [f"  {text}" for text in wrong[row["program"]]]
    return Measured("\n".join(lines), bool(rows) and not any(wrong.values()), [_shown(row) for row in rows])


CRITERIA = [
    Criterion(
        "guests",
        "unhooked cg, mg, hydro and lmp on two nodes: same output; learned, planned, moved, proved, and what is "
        "said to be gained is what the journal's iterations give; each page is "
        "where the journal has it, and what the plan wants in near memory is there, by the kernel's account",
        _all,
    )
]
