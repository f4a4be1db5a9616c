# SPDX-License-Identifier: Apache-2.0
"""`terrace show`: print objects, phases, their costs, and what was not observed."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from terrace import options, units
from terrace.errors import WrongCallError
from terrace.output import console, print_json, table
from terrace.report import mpi_memory, mpi_use, observation, stencil_facts, stencil_tables
from terrace.report.profile_tables import (
    benefit_table,
    level_document,
    level_times,
    object_sizes,
    phase_times,
)
from terrace.solve import confidence, model
from terrace.store import stencil_plans
from terrace.store.reader import Store
from terrace.store.selection import count_others, of_job
from terrace.store.summary import PhaseSummary, by_name, summarise_phases
from terrace.store.values import (
    Counters,
    Coverage,
    Floats,
    Level,
    Loop,
    LoopCandidate,
    Machine,
    Note,
    Profile,
    Run,
)

_EPILOG = """\b
Examples:
  terrace show cg.4711.terrace
  terrace show cg.4711.terrace --exact --all
  terrace show cg.4711.terrace --json | jq '.objects[0]'
  terrace show heat.plans --chain 2
"""
_MANY = 20
_MANY_PHASES = 8


def register(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("show", epilog=_EPILOG)(show)


def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.terrace",
            help="Profile of `terrace record` or `simulate`, or the plans of a stencil program.",
        ),
    ],
    process: options.Process = None,
    rank: options.Rank = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Show the simulator's exact counters instead of samples.")
    ] = False,
    all_objects: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"Show all objects, phases, chains and loops, not the first {_MANY} and {_MANY_PHASES}.",
        ),
    ] = False,
    chain: Annotated[
        int | None, typer.Option(help="Chain of stencil plans, from 1; default: the longest.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print objects, phases and their costs; or the plans of a stencil program."""
    if stencil_plans.is_plans(file):
        if process is not None or rank is not None or exact:
            option = "exact" if exact else "process" if process is not None else "rank"
            raise WrongCallError(f"--{option}: {file} contains stencil plans, not a profile; omit the option")
        _show_plans(file, chain, everything=all_objects, as_json=json)
        return
    if chain is not None:
        raise WrongCallError(f"--chain: {file} is a profile, which contains no stencil plans; omit the option")
    store = Store(file)
    run = store.run(process, rank)
    machine = store.machine(run)
    profile = by_name(store.profile(run, exact) if exact else store.profile_or_objects(run))
    sensitivity = model.sensitivities(store, run, profile) if profile.phases else []
    benefits, mpi = _benefits(store, run, profile), mpi_use.gather(store, run)
    if mpi and not json and not all_objects:
        profile, sensitivity, benefits = mpi_memory.group_objects(profile, sensitivity, benefits, mpi.objects)
    view = View(
        run=run,
        machine=machine,
        loop=store.loop(run),
        candidates=store.loop_candidates(run),
        profile=profile,
        phases=summarise_phases(store, run),
        sensitivity=sensitivity,
        benefits=benefits,
        counters=store.counters(run),
        levels=store.levels(run),
        coverage=store.coverage(run),
        notes=store.notes(run),
        mpi=mpi,
        others=count_others(store.runs(), run),
        missing="" if profile.phases else store.what_is_missing(run, exact),
    )
    if json:
        print_json(view.document())
    else:
        view.print(console(), everything=all_objects)


def _show_plans(file: Path, chain: int | None, *, everything: bool, as_json: bool) -> None:
    """Prints the plans of stencil chains, if the file holds those."""
    plans = stencil_plans.read(file)
    numbers = stencil_facts.chosen(file, plans, chain, len(plans.chains) if everything or as_json else 1)
    if as_json:
        print_json(stencil_tables.document(plans, numbers))
    else:
        stencil_tables.print_plans(console(), plans, numbers, everything=everything)


def _benefits(store: Store, run: Run, profile: Profile) -> list[confidence.Benefit]:
    names = [item.name for item in profile.objects]
    if not profile.phases:
        return [confidence.Benefit(name, 0.0, 0.0, 0.0, None, None, 0.0) for name in names]
    return confidence.benefits(model.Model(store, run, exact=profile.exact), names)


class View:
    """Output for one process."""

    def __init__(
        self,
        *,
        run: Run,
        machine: Machine,
        loop: Loop | None,
        candidates: list[LoopCandidate],
        profile: Profile,
        phases: list[PhaseSummary],
        sensitivity: list[list[str]],
        benefits: list[confidence.Benefit],
        counters: Counters | None,
        levels: list[Level],
        coverage: Coverage | None,
        notes: list[Note],
        mpi: mpi_use.MpiUse | None,
        others: int,
        missing: str,
    ) -> None:
        """Takes the stored data; `sensitivity` is by object and phase, `benefits` by object; `missing` states why
        there is no profile, and is empty otherwise."""
        self.run, self.machine, self.loop, self.profile = run, machine, loop, profile
        self.candidates = candidates
        known = {phase.name: phase for phase in phases}
        self.executed = phases
        self.phases = [known.get(phase.name, PhaseSummary(phase.name)) for phase in profile.phases]
        self.sensitivity, self.counters, self.coverage = sensitivity, counters, coverage
        self.levels, self.benefits, self.mpi = levels, benefits, mpi
        self.notes, self.others, self.missing = notes, others, missing
        self.paging = observation.paging(notes)
        # Heading of the counts: page references of the kernel indicate use, not misses.
        self.uses = "used" if observation.watched_pages(notes) and not profile.exact else "misses"
        lines = profile.reads + profile.writes
        self.bytes: Floats = lines * machine.line
        # Misses are fetched lines; write-backs follow from them.
        self.misses: Floats = profile.reads
        self.order = sorted(
            range(len(profile.objects)), key=lambda o: (-self.bytes[o].sum(), -profile.objects[o].size)
        )

    def document(self) -> dict[str, Any]:
        """Returns the document of `terrace show --json`."""
        total = max(self.misses.sum(), 1e-300)
        return {
            "program": self.run.program,
            "process": self.run.process,
            "rank": self.run.rank,
            "backend": self.run.backend,
            "machine": self.machine.name,
            "exact": self.profile.exact,
            "loop": self.loop.name if self.loop else None,
            "loop_found_by": self.loop.why or None if self.loop else None,
            **observation.iterations(self.loop),
            "loop_candidates": [asdict(candidate) for candidate in self.candidates],
            "profiled_iterations": self.profile.iterations,
            "unseen_share": self.counters.unseen_share if self.counters else None,
            "accesses": self.counters.accesses if self.counters else None,
            "accesses_of_no_object": self.counters.dropped if self.counters else None,
            "levels": level_document(self.levels),
            "mpi": mpi_use.document(self.mpi),
            "coverage": observation.document(self.run, self.coverage),
            "core_time": observation.core_time(self.run, self.machine),
            "phases": [
                {
                    "name": phase.name,
                    "runs": phase.runs,
                    "iterations_s": phase.times,
                    "mean_s": phase.mean,
                    "waited_s": phase.waited,
                    "profiled_s": profiled.time,
                    "core_s": profiled.core,
                    "misses": float(self.misses[:, p].sum()),
                    "bytes": float(self.bytes[:, p].sum()),
                }
                for p, (phase, profiled) in enumerate(zip(self.phases, self.profile.phases, strict=True))
            ],
            "objects": [
                {
                    "name": self.profile.objects[o].name,
                    "benefit_s": self.benefits[o].seconds,
                    "benefit_low_s": self.benefits[o].low,
                    "benefit_high_s": self.benefits[o].high,
                    "rank": self.benefits[o].rank,
                    "may_swap_with": self.benefits[o].rival,
                    "swap_probability": self.benefits[o].swap,
                    "kind": self.profile.objects[o].kind,
                    "size_bytes": self.profile.objects[o].size,
                    "share_of_misses": float(self.misses[o].sum() / total),
                    "phases": [
                        {
                            "misses": float(self.misses[o, p]),
                            "bytes": float(self.bytes[o, p]),
                            "exposure": float(self.profile.exposure[o, p]),
                            "sensitivity": self.sensitivity[o][p],
                        }
                        for p in range(len(self.profile.phases))
                    ],
                }
                for o in self.order
            ],
            "notes": [{"severity": note.severity, "text": note.text, "at_s": note.at} for note in self.notes],
        }

    def print(self, out: Console, *, everything: bool) -> None:
        """Prints tables: phases, objects x phases, what was not observed."""
        self._print_head(out)
        if not self.phases and self.paging:
            mpi_use.print_use(out, self.mpi)
            self._print_stored_notes(out)
            return
        if not self.phases and self.executed:
            out.print(phase_times(self.executed))
            out.print()
        if not self.phases:
            mpi_use.print_use(out, self.mpi)
            out.print(object_sizes([self.profile.objects[o] for o in self.order], None if everything else _MANY))
            out.print()
            self._print_notes(out)
            return
        shown = list(range(len(self.phases)))
        if not everything and len(shown) > _MANY_PHASES:
            longest = sorted(shown, key=lambda p: -self.profile.phases[p].time)
            shown = sorted(longest[:_MANY_PHASES])
        self._print_phases(out)
        if any(level.accesses for level in self.levels):
            out.print()
            out.print(level_times(self.levels))
        out.print()
        mpi_use.print_use(out, self.mpi)
        self._print_objects(out, None if everything else _MANY, shown)
        self._print_benefits(out, None if everything else _MANY)
        self._print_notes(out)

    def _print_notes(self, out: Console) -> None:
        for sentence in observation.observed_accesses(self.run, self.counters, self.coverage, self.loop):
            out.print(sentence, markup=False)
        for sentence in observation.warnings(self.run, self.coverage):
            out.print(f"warning: {sentence}", markup=False)
        if uncalibrated := observation.uncalibrated(self.run, self.machine):
            out.print(f"note: {uncalibrated}", markup=False)
        if calibrated := observation.calibrated(self.run):
            out.print(f"note: {calibrated}", markup=False)
        self._print_stored_notes(out)

    def _print_stored_notes(self, out: Console) -> None:
        for note in self.notes:
            if self.paging and note.text.startswith("no access was seen"):
                continue  # paging needs no accesses
            out.print(f"{note.severity}: {note.text}", markup=False)

    def _print_head(self, out: Console) -> None:
        run = self.run
        time = "virtual time" if run.virtual else "real time"
        option = "--process" if run.rank is None else "--rank"
        where = f"{run.host}, {time} on {self.machine.name}"
        out.print(f"{run.name}{of_job(run)}, process {run.process} on {where}", markup=False)
        if self.others > 0:
            what = "" if run.rank is None else " rank" if self.others == 1 else " ranks"
            out.print(f"({self.others} more{what} in this file; select one with {option})", markup=False)
        source = "exact counters of the simulator" if self.profile.exact else "estimates from samples"
        what = "Misses"
        if self.uses == "used":
            what, source = "Use", "estimates from the pages that were used"
        if sentence := observation.observed(self.loop):
            out.print(sentence, markup=False)
        if sentence := observation.found(self.loop):
            out.print(sentence, markup=False)
        for sentence in observation.other_loops(self.loop, self.candidates):
            out.print(sentence, markup=False)
        if not self.phases and self.paging:
            out.print("Terrace observed paging (--memory), not accesses; terrace record profiles these.\n")
            return
        if not self.phases:
            shown = "Phases as executed, and objects" if self.executed else "Objects"
            out.print(f"{self.missing[0].upper()}{self.missing[1:]}. {shown}, the largest first:\n", markup=False)
            return
        many = self.profile.iterations
        out.print(
            f"{what}, traffic and exposure are {source}, of {many} iteration{'s' * (many != 1)}.", markup=False
        )
        out.print(
            "Times are per iteration, summed by phase name; waited is the total of the loop.\n", markup=False
        )

    def _print_phases(self, out: Console) -> None:
        rows = table(
            "phase", "runs", "mean", "min", "max", "share", "waited", "profiled", "core", self.uses, "traffic"
        )
        total = max(sum(phase.mean for phase in self.phases), 1e-300)
        for p, (phase, profiled) in enumerate(zip(self.phases, self.profile.phases, strict=True)):
            rows.add_row(
                profiled.name,
                str(phase.runs),
                *map(units.seconds, (phase.mean, min(phase.times, default=0.0), max(phase.times, default=0.0))),
                units.percent(phase.mean / total),
                *map(units.seconds, (phase.waited, profiled.time, profiled.core)),
                units.count(self.misses[:, p].sum()),
                units.size(self.bytes[:, p].sum()),
            )
        out.print(rows)

    def _print_objects(self, out: Console, limit: int | None, phases: list[int]) -> None:
        shown = self.order[:limit]
        names = [self.profile.phases[p].name for p in phases]
        rows = table("object", "kind", "size", self.uses, "traffic", "exposed", *names, left=(0, 1))
        by_phase = self.misses.sum(axis=0)
        total = max(by_phase.sum(), 1e-300)
        for o in shown:
            item = self.profile.objects[o]
            rows.add_row(
                item.name,
                item.kind,
                units.size(item.size),
                units.percent(self.misses[o].sum() / total),
                units.size(self.bytes[o].sum()),
                units.count(self.profile.exposure[o].sum()),
                *(self._cell(o, p, by_phase) for p in phases),
            )
        rest = self.order[len(shown) :]
        if rest:
            rows.add_row(
                f"({len(rest)} more)",
                "",
                units.size(sum(self.profile.objects[o].size for o in rest)),
                units.percent(self.misses[rest].sum() / total),
                units.size(self.bytes[rest].sum()),
                units.count(self.profile.exposure[rest].sum()),
                *(units.percent(self.misses[rest, p].sum() / max(by_phase[p], 1e-300), 0) for p in phases),
            )
        out.print(rows)
        out.print(
            f"{self.uses}: share of all; phase columns: share of the phase's, and the object's sensitivity "
            "there (b bandwidth, l latency, e either); exposed: number of exposed latencies",
            markup=False,
        )
        if len(phases) < len(self.phases):
            out.print(
                f"Shows the {len(phases)} longest of {len(self.phases)} phases; --all shows all.", markup=False
            )

    def _print_benefits(self, out: Console, limit: int | None) -> None:
        ranked = sorted((b for b in self.benefits if b.rank is not None), key=lambda b: b.rank or 0)
        if not ranked:
            out.print("\nNo object gains from fast memory.\n", markup=False)
            return
        out.print()
        out.print(benefit_table(ranked[:limit]))
        out.print(
            "benefit: gain per iteration with the object alone in fast memory; from, to: 90 % interval; "
            "rank: by benefit (plans also weigh sizes and the budget; `terrace plan` states their certainty)\n",
            markup=False,
        )

    def _cell(self, o: int, p: int, by_phase: Floats) -> str:
        if self.misses[o, p] <= 0:
            return "."
        share = self.misses[o, p] / max(by_phase[p], 1e-300)
        return f"{100 * share:.0f} % {self.sensitivity[o][p][:1] or ' '}"
