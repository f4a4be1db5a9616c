# SPDX-License-Identifier: Apache-2.0
"""`terrace lab gpu`: simulate a GPU program or its trace in virtual time."""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import _core
from terrace.describe import former_options
from terrace.errors import WrongCallError, core_errors
from terrace.lab import gpu_camat
from terrace.output import console, print_json, table
from terrace.units import parse_size

_EPILOG = """\b
Input: one of Terrace's own programs (without argument: list them), a trace that --save-trace wrote (*.warps), or
the list of an Accel-Sim trace (kernelslist.g) with a side file of allocations, one line NAME ADDRESS BYTES each.
\b
{policies}
\b
Examples:
  terrace lab gpu
  terrace lab gpu needle --size test
  terrace lab gpu hotspot --times 3
  terrace lab gpu needle --save-trace needle.warps --threshold 1 --range 128 --balanced
  terrace lab gpu needle.warps --share 0.7
  terrace lab gpu needle.warps --policy unified-memory --memory 8MiB
  terrace lab gpu needle.warps --share 1 --kernels --every 100000
  terrace lab gpu traces/kernelslist.g --allocations traces/allocations
"""

_ABOUT = {
    "touch": "migrates by --threshold and related options",
    "migrate-on-fault": "migrates on faults",
    "unified-memory": "faults with the prefetching of NVIDIA's driver",
    "access-counters": "access counters of NVIDIA's GPUs",
    "even": "keeps both memories busy all the time",
    "even-moves": "the same, starting with all pages behind the link",
}
_MAX = 2**32 - 1  # limit of the simulator's counts of accesses, pages and shootdown cycles
_MAX_CYCLES = 2**63 - 1


def register(app: typer.Typer) -> None:
    """Adds the subcommand to `terrace lab`."""
    settings = former_options({"keep": "save-trace"})
    app.command("gpu", epilog=_EPILOG.format(policies=_policies()), context_settings=settings)(gpu)


def _policies() -> str:
    """Returns the list of policies as text."""
    told = [f"{name} ({_ABOUT[name]})" if name in _ABOUT else name for name in _core.gpu_policies()]
    text = f"Policies: {', '.join(told)}. Those without explanation also tier a processor's memory."
    return textwrap.fill(text, 110, break_on_hyphens=False)


def gpu(
    context: typer.Context,
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM|FILE", help="Input; see below.")] = None,
    machine: Annotated[
        str, typer.Option("--machine", "-m", help="Machine file with a [[gpu]], or name of a shipped machine.")
    ] = "gtx480-ddr4",
    size: Annotated[str | None, typer.Option(help="Problem size: test or paper; default: paper.")] = None,
    times: Annotated[int, typer.Option(min=1, metavar="N", help="Multiply the number of iterations by N.")] = 1,
    keep: Annotated[
        Path | None, typer.Option("--save-trace", metavar="FILE.warps", help="Write the program's trace.")
    ] = None,
    allocations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Allocations of an Accel-Sim trace.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of pages in the GPU's own memory, without moves.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Migration policy; see below.")] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            min=1, max=_MAX, metavar="N", help="Migrate a page after N accesses; default with --policy touch: 1."
        ),
    ] = None,
    range_: Annotated[
        int | None, typer.Option("--range", min=0, max=_MAX, metavar="N", help="Migrate N neighbours as well.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Stop migration when traffic matches both memories' bandwidths.")
    ] = False,
    evict: Annotated[bool, typer.Option("--evict", help="Evict pages if the GPU's own memory is full.")] = False,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Migrate back if too many pages are in the GPU's own memory.")
    ] = False,
    shootdown: Annotated[
        int | None,
        typer.Option(
            min=0, max=_MAX, metavar="CYCLES", help="Duration of a TLB shootdown; default: the machine's."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Size of the GPU's own memory; default: the machine's."),
    ] = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="Print C-AMAT by kernel.")] = False,
    every: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_CYCLES, metavar="CYCLES", help="Print C-AMAT over time, at this interval."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate a GPU program in virtual time: pages behind the link, a share local, or migrated by accesses."""
    if program is None:
        _check_alone(context)
        _list_programs(json)
        return
    _check_trace(program, size, times, keep)
    if policy is None and threshold is not None:
        policy = "touch"
    _check_rules(policy, threshold, range_ is not None or balanced or evict or reverse, share)
    if policy is None and shootdown is not None:
        raise WrongCallError("--shootdown requires migration: give --threshold N or --policy NAME")
    room = None if memory is None else parse_size(memory)
    side = _side_file(program, allocations)
    with core_errors():
        about = _core.Machine.read(machine)
        with tempfile.TemporaryDirectory() as scratch:
            trace, verdict = _trace(program, size or "paper", times, keep, Path(scratch))
            if policy is None:
                run = _core.simulate_gpu_share(
                    about,
                    trace,
                    share or 0.0,
                    allocations=side,
                    memory=room,
                    by_kernel=kernels,
                    every=every or 0,
                )
            else:
                run = _core.simulate_gpu_policy(
                    about,
                    trace,
                    policy,
                    threshold=threshold or 1,
                    range=range_ or 0,
                    balanced=balanced,
                    evicts=evict,
                    reverses=reverse,
                    shootdown=shootdown,
                    allocations=side,
                    memory=room,
                    by_kernel=kernels,
                    every=every or 0,
                )
    if json:
        print_json({"machine": about.name, "program": program, "checked": verdict, **run})
    else:
        _show(about.name, program, verdict, run)
        if kernels:
            _show_kernels(run)
        if every is not None:
            _show_times(run)


def _check_alone(context: typer.Context) -> None:
    """Raises WrongCallError for options that require a program, if none is given."""
    given = [
        max(option.opts, key=len)
        for option in context.command.params
        if option.name not in (None, "json") and context.params[option.name] != option.default
    ]
    if given:
        raise WrongCallError(
            f"{', '.join(given)}: the program or trace is missing; name one that `terrace lab gpu` lists"
        )


def _check_trace(program: str, size: str | None, times: int, keep: Path | None) -> None:
    """Raises WrongCallError for options that a trace does not take."""
    if keep is not None:
        if _is_trace(program):
            raise WrongCallError(f"--save-trace: {program} is a trace already; omit the option")
        if keep.suffix != ".warps":
            raise WrongCallError(f"--save-trace {keep}: the name of a trace of warps must end in .warps")
    if size is not None and _is_trace(program):
        raise WrongCallError(f"--size {size}: {program} is a trace, which has a fixed size; omit the option")
    if times != 1 and _is_trace(program):
        raise WrongCallError(
            f"--times {times}: {program} is a trace, which has a fixed number of iterations; omit the option"
        )


def _is_trace(program: str) -> bool:
    return program.endswith((".warps", ".g"))


def _check_rules(policy: str | None, threshold: int | None, ruled: bool, share: float | None) -> None:
    """Raises WrongCallError for options of placement that exclude each other."""
    if policy is not None and share is not None:
        raise WrongCallError("--share excludes --threshold and --policy: give one placement")
    if policy is None and ruled:
        raise WrongCallError("--range, --balanced, --evict and --reverse require migration: give --threshold N")
    if policy not in (None, "touch") and (ruled or threshold is not None):
        raise WrongCallError(
            f"--threshold, --range, --balanced, --evict and --reverse are options of policy touch, "
            f"not {policy}; give --policy touch"
        )


def _list_programs(json: bool) -> None:
    programs = _core.gpu_programs()
    if json:
        print_json(
            {
                "programs": [
                    {"name": n, "title": t, "source": s, "sizes": dict(sizes), "iterates": iterates}
                    for n, t, s, sizes, iterates in programs
                ]
            }
        )
        return
    rows = table("program", "what", "source", left=(0, 1, 2))
    for name, title, source, *_ in programs:
        rows.add_row(name, title, source)
    console().print(rows)


def _side_file(program: str, allocations: Path | None) -> str:
    if allocations is None:
        return ""
    if not program.endswith(".g"):
        raise WrongCallError(
            f"--allocations requires the list of an Accel-Sim trace (kernelslist.g), not {program}"
        )
    return str(allocations)


def _trace(program: str, size: str, times: int, keep: Path | None, scratch: Path) -> tuple[str, str]:
    """Returns the path of the trace, and how the program's results were verified."""
    if _is_trace(program):
        return program, ""
    path = str(keep or scratch / "program.warps")
    return path, _core.write_warps(program, size, path, times)


def _show(machine: str, program: str, verdict: str, run: dict[str, Any]) -> None:
    """Prints the result of a simulation as tables."""
    out = console()
    if verdict:
        out.print(f"{program}: {verdict}")
    seconds = run["seconds"]
    own, beyond = run["demand_bytes"]
    rows = table("on " + machine, "", left=(0,))
    rows.add_row("time", f"{seconds * 1e3:.3f} ms, {run['cycles']} cycles")
    rows.add_row("warp instructions", str(run["instructions"]))
    rows.add_row("its own memory", f"{own / seconds / 1e9:.1f} GB/s")
    rows.add_row("remote memory", f"{beyond / seconds / 1e9:.1f} GB/s")
    rows.add_row("pages", str(len(run["page_accesses"])))
    placed, left_out = run["placed_pages"], run["no_room_pages"]
    if placed + left_out:
        without = f", no space for {left_out}" if left_out else ""
        rows.add_row("pages placed", f"{placed} of {placed + left_out}{without}")
    rows.add_row("pages moved", f"{run['moved_pages']}, {run['without_shootdown']} without a shootdown")
    if run["faults"]:
        rows.add_row("faults", f"{run['faults']}, in {run['fault_batches']} batches")
    if run["refused_pages"]:
        rows.add_row("refused moves", str(run["refused_pages"]))
    rows.add_row("SMs stopped", f"{run['stopped_cycles'] / max(run['cycles'], 1):.1%} of the time")
    for level, words in gpu_camat.LEVELS.items():
        rows.add_row(f"C-AMAT, {words}", f"{run['camat'][level]['value']:.2f} cycles")
    values = sorted(each["value"] for each in run["camat"]["l1"]["each"] if each["accesses"])
    if values:
        rows.add_row("C-AMAT, L1 by SM", f"{values[0]:.2f} to {values[-1]:.2f} cycles")
    out.print(rows)


def _show_kernels(run: dict[str, Any]) -> None:
    rows = table("kernel", "launches", "cycles", *gpu_camat.LEVELS.values(), title="C-AMAT by kernel")
    for part in gpu_camat.by_kernel(run["camat_by_kernel"]):
        name, launches = (part.kernel, str(part.launches)) if part.kernel else ("after the last", "")
        rows.add_row(name, launches, str(part.cycles), *_values(part))
    console().print(rows)


def _show_times(run: dict[str, Any]) -> None:
    rows = table("from cycle", *gpu_camat.LEVELS.values(), title="C-AMAT over time", left=())
    for part in gpu_camat.over_time(run["camat_over_time"], max(len(run["camat_over_time"]), 1)):
        rows.add_row(str(part.begin), *_values(part))
    console().print(rows)


def _values(part: gpu_camat.Part) -> list[str]:
    values = [gpu_camat.value(part.levels[level]) for level in gpu_camat.LEVELS]
    return ["" if value is None else f"{value:.2f}" for value in values]
