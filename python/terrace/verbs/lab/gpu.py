"""`terrace lab gpu`: a program, or a trace of one, on a GPU in virtual time."""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace import _core
from terrace.errors import WrongCallError, core_errors
from terrace.lab import gpu_camat
from terrace.output import console, print_json, table
from terrace.units import parse_size

_EPILOG = """\b
What runs: a program of Terrace's own (without one, their list), a trace that --keep wrote (*.warps), or the list
of an Accel-Sim trace (kernelslist.g) with its allocations in a side file, a line NAME ADDRESS BYTES for each.
\b
{policies}
\b
Examples:
  terrace lab gpu
  terrace lab gpu needle --size test
  terrace lab gpu hotspot --times 3
  terrace lab gpu needle --keep needle.warps --threshold 1 --range 128 --balanced
  terrace lab gpu needle.warps --share 0.7
  terrace lab gpu needle.warps --policy unified-memory --memory 8MiB
  terrace lab gpu needle.warps --share 1 --kernels --every 100000
  terrace lab gpu traces/kernelslist.g --allocations traces/allocations
"""

_ABOUT = {
    "touch": "by --threshold and so on",
    "migrate-on-fault": "by faults",
    "unified-memory": "faults, and what NVIDIA's driver fetches with them",
    "access-counters": "by the counters of NVIDIA's GPUs",
    "even": "both memories busy all the time",
    "even-moves": "the same, from all pages beyond the link",
}
_MAX = 2**32 - 1  # as the simulator counts accesses, pages and cycles of a shootdown
_MAX_CYCLES = 2**63 - 1


def register(app: typer.Typer) -> None:
    """Adds the command to `terrace lab`."""
    app.command("gpu", epilog=_EPILOG.format(policies=_policies()))(gpu)


def _policies() -> str:
    """All that there are, in lines."""
    told = [f"{name} ({_ABOUT[name]})" if name in _ABOUT else name for name in _core.gpu_policies()]
    text = f"Policies: {', '.join(told)}. Those without a word tier a processor's memory, too."
    return textwrap.fill(text, 110, break_on_hyphens=False)


def gpu(
    context: typer.Context,
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM|FILE", help="What runs; see below.")] = None,
    machine: Annotated[
        str, typer.Option("--machine", "-m", help="Machine file with a [[gpu]], or name of a shipped one.")
    ] = "gtx480-ddr4",
    size: Annotated[str | None, typer.Option(help="Size of a program: test or paper; default: paper.")] = None,
    times: Annotated[
        int, typer.Option(min=1, metavar="N", help="N times as many iterations as the size has.")
    ] = 1,
    keep: Annotated[Path | None, typer.Option(metavar="FILE.warps", help="Keep the program's trace.")] = None,
    allocations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where an Accel-Sim trace's data are.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of the pages in the GPU's own memory; they stay.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Who moves pages; see below.")] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            min=1, max=_MAX, metavar="N", help="A page moves after N accesses; with --policy touch default: 1."
        ),
    ] = None,
    range_: Annotated[
        int | None, typer.Option("--range", min=0, max=_MAX, metavar="N", help="N neighbours go along.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Moves stop at the balance of both memories' bandwidths.")
    ] = False,
    evict: Annotated[bool, typer.Option("--evict", help="Pages that find no room send others back.")] = False,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Pages go back where too many are in the GPU's own memory.")
    ] = False,
    shootdown: Annotated[
        int | None,
        typer.Option(min=0, max=_MAX, metavar="CYCLES", help="Length of a shootdown; default: the machine's."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Size of the GPU's own memory; default: the machine's, all of it."),
    ] = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="C-AMAT by kernel, too.")] = False,
    every: Annotated[
        int | None,
        typer.Option(
            min=1, max=_MAX_CYCLES, metavar="CYCLES", help="C-AMAT over time, too: every so many cycles."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a GPU program in virtual time: pages over the link, in a share, or moved by their accesses."""
    if program is None:
        _check_alone(context)
        _list_programs(json)
        return
    _check_trace(program, size, times, keep)
    if policy is None and threshold is not None:
        policy = "touch"
    _check_rules(policy, threshold, range_ is not None or balanced or evict or reverse, share)
    if policy is None and shootdown is not None:
        raise WrongCallError("--shootdown needs pages that move: give --threshold N or --policy NAME, too")
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
    given = [
        max(option.opts, key=len)
        for option in context.command.params
        if option.name not in (None, "json") and context.params[option.name] != option.default
    ]
    if given:
        raise WrongCallError(
            f"{', '.join(given)}: of what? Give a program or a trace, too; without one they are listed"
        )


def _check_trace(program: str, size: str | None, times: int, keep: Path | None) -> None:
    if keep is not None:
        if _is_trace(program):
            raise WrongCallError(f"--keep: {program} is a trace already")
        if keep.suffix != ".warps":
            raise WrongCallError(f"--keep {keep}: the name of a trace of warps ends in .warps")
    if size is not None and _is_trace(program):
        raise WrongCallError(f"--size {size}: {program} is a trace, whose size is what it is")
    if times != 1 and _is_trace(program):
        raise WrongCallError(f"--times {times}: {program} is a trace, whose iterations are what they are")


def _is_trace(program: str) -> bool:
    return program.endswith((".warps", ".g"))


def _check_rules(policy: str | None, threshold: int | None, ruled: bool, share: float | None) -> None:
    if policy is not None and share is not None:
        raise WrongCallError("--share and --threshold or --policy are two placements: give one")
    if policy is None and ruled:
        raise WrongCallError(
            "--range, --balanced, --evict and --reverse need pages that move: give --threshold N, too"
        )
    if policy not in (None, "touch") and (ruled or threshold is not None):
        raise WrongCallError(
            f"--threshold, --range, --balanced, --evict and --reverse are of the policy touch, not of {policy}"
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
            f"--allocations is for the list of an Accel-Sim trace (kernelslist.g), not for {program}"
        )
    return str(allocations)


def _trace(program: str, size: str, times: int, keep: Path | None, scratch: Path) -> tuple[str, str]:
    """The trace's path, and what the program's results were checked against."""
    if _is_trace(program):
        return program, ""
    path = str(keep or scratch / "program.warps")
    return path, _core.write_warps(program, size, path, times)


def _show(machine: str, program: str, verdict: str, run: dict[str, Any]) -> None:
    out = console()
    if verdict:
        out.print(f"{program}: {verdict}")
    seconds = run["seconds"]
    own, beyond = run["demand_bytes"]
    rows = table("on " + machine, "", left=(0,))
    rows.add_row("time", f"{seconds * 1e3:.3f} ms, {run['cycles']} cycles")
    rows.add_row("warp instructions", str(run["instructions"]))
    rows.add_row("its own memory", f"{own / seconds / 1e9:.1f} GB/s")
    rows.add_row("beyond the link", f"{beyond / seconds / 1e9:.1f} GB/s")
    rows.add_row("pages", str(len(run["page_accesses"])))
    placed, left_out = run["placed_pages"], run["no_room_pages"]
    if placed + left_out:
        without = f", no room for {left_out}" if left_out else ""
        rows.add_row("pages placed", f"{placed} of {placed + left_out}{without}")
    rows.add_row("pages moved", f"{run['moved_pages']}, {run['without_shootdown']} without a shootdown")
    if run["faults"]:
        rows.add_row("faults", f"{run['faults']}, in {run['fault_batches']} batches")
    if run["refused_pages"]:
        rows.add_row("moves without room", str(run["refused_pages"]))
    rows.add_row("SMs stood still", f"{run['stopped_cycles'] / max(run['cycles'], 1):.1%} of the time")
    for level, words in gpu_camat.LEVELS.items():
        rows.add_row(f"C-AMAT, {words}", f"{run['camat'][level]['value']:.2f} cycles")
    values = sorted(each["value"] for each in run["camat"]["l1"]["each"] if each["accesses"])
    if values:
        rows.add_row("C-AMAT, L1 by SM", f"{values[0]:.2f} to {values[-1]:.2f} cycles")
    out.print(rows)


def _show_kernels(run: dict[str, Any]) -> None:
    rows = table("kernel", "launches", "cycles", *gpu_camat.LEVELS.values(), title="C-AMAT by kernel")
    for part in gpu_camat.by_kernel(run["camat_by_kernel"]):
        name, launches = (part.kernel, str(part.launches)) if part.kernel else ("behind the last", "")
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
