# SPDX-License-Identifier: Apache-2.0
"""Compares where the kernel has the pages of four ranks that share a node's fast memory with their journals and
their shares, in a guest with four nodes. Criteria of acceptance/mpi.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable

from mpi_lines import node_plans
from mpi_lines.jobs import ENVIRONMENT, launcher
from mpi_lines.node_samples import Report, Sample, read_report

sys.path.insert(0, str(ROOT / "tests" / "guest_bed"))
import vm

# Two sockets with ordinary and fast memory each; the ranks are on the first one.
NODES = (
    "768M:cpu=4:100ns/180ns:8192/4096:dist=10/21/13/23,512M:cpu=4:180ns/100ns:4096/8192:dist=21/10/23/13,"
    "96M:near=0:60ns/210ns:32768/3000:dist=13/23/10/23,128M:near=1:210ns/60ns:3000/32768:dist=23/13/23/10"
)
BUDGET = 24 << 20
RANKS = 4
KILLED = 3  # the rank with the most work
ITERATIONS = 500
MARGIN = 0.05  # s, between the journal's clock and the program's
ARRAYS = "%uneven_ranks.c%"  # names of the program's arrays
SOURCE = ROOT / "tests" / "support" / "uneven_ranks.c"


@dataclass
class Rank:
    """The profile of a rank. Times in s of CLOCK_MONOTONIC."""

    chunks: list[tuple[int, int, int]]  # object, first address, one past the last
    born: dict[tuple[int, int], int]  # node at first, by object and chunk
    moves: dict[tuple[int, int], list[tuple[float, float, int, int]]]  # begun, done, from, to
    notes: list[tuple[float, str]]
    zero: float = 0  # when the process started

    def allowed(self, one: int, chunk: int, sample: Sample) -> set[int]:
        """Returns the nodes on which the chunk's pages may have been during the sample."""
        node, nodes = self.born[one, chunk], set()
        for begun, done, source, target in self.moves.get((one, chunk), []):
            if done + MARGIN < sample.begin:
                node = target
            elif begun - MARGIN < sample.end:
                nodes |= {source, target}
        return nodes | {node}


def read_rank(profile: Path, rank: int, report: Report) -> Rank | None:
    """Reads a rank's run; nothing if the profile has none."""
    with sqlite3.connect(profile) as database:
        run = database.execute(
            "SELECT run.id, started_unix_ns, machine FROM run WHERE rank = ? ORDER BY "
            "(SELECT count(*) FROM phase_instance WHERE run = run.id) DESC",
            (rank,),
        ).fetchone()
        if run is None:
            return None
        zero = run[1] * 1e-9 - report.real + report.monotonic
        node = dict(database.execute("SELECT id, numa_node FROM place WHERE machine = ?", (run[2],)))
        found = Rank([], {}, {}, [], zero)
        objects = database.execute(
            "SELECT id, address, size, chunk_size, chunks FROM object WHERE run = ? AND name LIKE ?",
            (run[0], ARRAYS),
        ).fetchall()
        for one, address, size, chunk_size, chunks in objects:
            for chunk in range(chunks):
                low = address + chunk * chunk_size
                found.chunks.append((one, low, min(low + chunk_size, address + size)))
        for one, first, chunks, place in database.execute(
            "SELECT object, first, chunks, place FROM object_place WHERE run = ?", (run[0],)
        ):
            for chunk in range(first, first + chunks):
                found.born[one, chunk] = node.get(place, -1)
        for one, first, chunks, source, target, begun, done in database.execute(
            "SELECT object, first, chunks, source, target, begun, done FROM move WHERE run = ? AND NOT refused "
            "ORDER BY done, id",
            (run[0],),
        ):
            for chunk in range(first, first + chunks):
                moves = found.moves.setdefault((one, chunk), [])
                moves.append((begun + zero, done + zero, node[source], node[target]))
        for at, text in database.execute("SELECT at, text FROM note WHERE run = ? AND at IS NOT NULL", (run[0],)):
            found.notes.append((at + zero, text))
        return found


def _check_rank(number: int, report: Report, rank: Rank) -> tuple[int, list[str]]:
    """Returns how many chunks with pages were compared with their journal, and the differences."""
    compared, problems = 0, []
    index: Counter[int] = Counter()
    chunks = []
    for one, low, high in rank.chunks:
        chunks.append((one, index[one], low, high))
        index[one] += 1
    for at, sample in enumerate(report.samples):
        for one, chunk, low, high in chunks:
            nodes = sample.nodes(low, high)
            if not nodes:
                continue  # on their way, or absent
            allowed = rank.allowed(one, chunk, sample)
            compared += 1
            if not set(nodes) <= allowed:
                problems.append(f"rank {number}, sample {at}: chunk {chunk} is on {dict(nodes)}, not {allowed}")
    return compared, problems


def _largest_sum(reports: list[Report]) -> int:
    """Returns the largest sum of the ranks' bytes on the fast node. Between two accounts of a rank data may have
    moved: the smaller one counts."""
    times = [[sample.end for sample in one.samples] for one in reports]
    sizes = [[sample.fast_bytes() for sample in one.samples] for one in reports]

    def at(rank: int, time: float) -> int:
        behind = bisect_right(times[rank], time)
        return min(sizes[rank][max(behind - 1, 0) : behind + 1], default=0)

    return max((sum(at(rank, time) for rank in range(len(reports))) for one in times for time in one), default=0)


def _judge_whole(out: Path, plain: list[str]) -> tuple[str, list[str]]:
    """Compares the job that ran to its end: with journals, plans, shares and the program's own result."""
    problems: list[str] = []
    reports = [read_report(out / f"whole.{number}") for number in range(RANKS)]
    ranks = [read_rank(out / "whole.terrace", number, report) for number, report in enumerate(reports)]
    compared = 0
    plans: list[node_plans.Plan] = []
    final: list[int] = []
    for number, (rank, report) in enumerate(zip(ranks, reports, strict=True)):
        if rank is None:
            problems.append(f"rank {number} has no run in the profile")
            continue
        count, found = _check_rank(number, report, rank)
        compared += count
        problems += found[:3]
        if count < len(rank.chunks) * len(report.samples) * 0.9:
            problems.append(f"rank {number}: {count} chunks had pages, of {len(rank.chunks)} in each sample")
        divisions = node_plans.parse_divisions(rank.notes)
        if not divisions:
            problems.append(f"rank {number} got no share")
            continue
        final.append(divisions[-1][2])
        num_samples, exceeding = node_plans.exceeded_shares(number, divisions, report.samples)
        if exceeding or num_samples == 0:
            example = exceeding[0] if exceeding else f"rank {number}"
            problems.append(f"{example}: {len(exceeding)} of {num_samples} samples exceed the share")
        own = node_plans.read_plans(
            out / "whole.terrace", number, ARRAYS, rank.zero, node_plans.undoing(rank.notes)
        )
        for plan in own:
            node_plans.compare_plan(plan, report.samples)
        plans += own
    if sum(final) > BUDGET >> 20:
        problems.append(f"the shares {final} MiB exceed the budget")
    largest = _largest_sum(reports)
    if largest > BUDGET:
        problems.append(f"the ranks had {largest >> 10} KiB on the fast node at a time")
    if largest < BUDGET * 0.8 or not any(rank and rank.moves for rank in ranks):
        problems.append(f"the ranks used {largest >> 10} KiB of the fast node, and moved data or not")
    if not compared:
        problems.append("no chunk was compared")
    settled = [plan for plan in plans if plan.is_compared]
    in_plans, as_planned = sum(plan.is_compared for plan in settled), sum(plan.is_as_planned for plan in settled)
    if not in_plans or as_planned < node_plans.MIN_AS_PLANNED * in_plans:
        problems.append(f"{as_planned} of {in_plans} chunks of settled plans lie as planned")
    printed = [line.split()[1] for line in (out / "whole.txt").read_text().splitlines() if line[:8] == "checksum"]
    if printed != plain or (out / "whole.status").read_text().strip() != "0":
        problems.append(f"the program printed {printed}, without Terrace {plain}")
    text = (
        f"{compared} chunks at the ends of {sum(len(one.samples) for one in reports)} sweeps compared with "
        f"journals, {as_planned} of {in_plans} chunks as {len(settled)} settled plans have them, shares {final} "
        f"of {BUDGET >> 20} MiB, at most {largest / (1 << 20):.1f} MiB on the fast node at a time"
    )
    return text, problems


def _judge_killed(out: Path) -> tuple[str, list[str]]:
    """Compares when the memory of a killed rank was divided, by the survivors' notes, and how their own memory
    grew, by the kernel's account."""
    problems: list[str] = []
    reports = [read_report(out / f"killed.{number}") for number in range(RANKS)]
    died = reports[KILLED].killed
    waits: list[float] = []
    kept: list[float] = []
    for number in set(range(RANKS)) - {KILLED}:
        rank = read_rank(out / "killed.terrace", number, reports[number])
        divisions = node_plans.parse_divisions(rank.notes) if rank else []
        before = [share for at, _, share in divisions if died and at <= died]
        again = [(at, share) for at, members, share in divisions if died and members == RANKS - 1 and at > died]
        # Ranks that had no share yet, or keep it, divide later for another reason.
        if died and before and again:
            (waits if again[0][1] != before[-1] else kept).append(again[0][0] - died)
    if not waits + kept or min(waits + kept) > 1 or max(waits, default=0) > 1:
        problems.append(f"memory of rank {KILLED}, which was killed, was divided after {waits} s, kept {kept}")
    found = node_plans.returned_memory(reports, KILLED)
    if found is None:
        return "", [*problems, f"rank {KILLED} was not killed, or a rank has no samples"]
    text = (
        f"memory of a killed rank divided again after {min(waits + kept, default=0):.2f} s: of its "
        f"{found.killed / (1 << 20):.1f} MiB the others had the first after {found.first} s, "
        f"{node_plans.MIN_RETURNED:.0%} after {found.whole} s"
    )
    return text, problems + found.problems()


def judge(out: Path, plain: list[str]) -> Measured:
    """Judges the files that the guest left. `plain`: what the program prints without Terrace."""
    whole, problems = _judge_whole(out, plain)
    killed, more = _judge_killed(out)
    return Measured("; ".join([whole, killed, *problems[:5], *more]), not problems and not more)


def shared_node() -> Measured:
    """Runs the ranks in the guest and compares the kernel's account with their journals, plans and shares."""
    if not shutil.which("mpicc.openmpi"):
        raise Unavailable("no Open MPI: apt-get install libopenmpi-dev openmpi-bin")
    if lacks := vm.missing():
        raise Unavailable("no guest, for want of " + "; ".join(lacks))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        program = folder / "uneven_ranks"
        subprocess.run(["mpicc.openmpi", "-g", "-O1", SOURCE, "-o", program], check=True)
        script = Path(__file__).with_name("node_memory_guest.sh")
        words = [str(script), str(program), str(TERRACE), f"{BUDGET >> 20}MiB", str(ITERATIONS)]
        out = folder / "out"
        out.mkdir()
        status, text = vm.run(words, vm.parse_nodes(NODES), cwd=folder, out=out, timeout=2400)
        if status != 0:
            raise RuntimeError(f"the guest's jobs failed: {text[-500:]}")
        plain = subprocess.run(
            [*launcher("openmpi", RANKS), program, "8", str(ITERATIONS)],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        ).stdout.split()
        return judge(out, plain[1:])


CRITERIA = [
    Criterion(
        "ranks share a node's fast memory",
        "4 ranks in a four-node guest: pages lie as journals and settled plans say, no rank exceeds its share, "
        "their sum never exceeds the budget; a killed rank's memory is divided within 1 s, and 90 % of it reused "
        "in 10 s",
        shared_node,
    )
]
