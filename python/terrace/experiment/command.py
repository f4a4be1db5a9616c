"""The commands `terrace lab experiment unimem` and `... two-level`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from terrace.errors import WrongCallError
from terrace.experiment import two_level, two_level_page, unimem, unimem_page
from terrace.experiment.cells import Answers, Cell, document, parse_shard, write_whole
from terrace.experiment.page import Report
from terrace.experiment.recording import Place
from terrace.experiment.runner import run
from terrace.experiment.setting import Setting
from terrace.experiment.workloads import CLASSES, chosen

app = typer.Typer(
    help="The published studies once more: ours beside theirs.", no_args_is_help=True, rich_markup_mode=None
)

_EPILOG = """\b
Examples:
  terrace lab experiment {name} --output out/{name}
  terrace lab experiment {name} --small
  terrace lab experiment {name} --class A -o shared/{name} --shard 2/8
"""

_Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder; default: out/NAME.")]
_Class = Annotated[str, typer.Option("--class", help="Size of the programs: S, W or A.")]
_Small = Annotated[bool, typer.Option("--small", help="Few programs in class S, and few questions.")]
_Only = Annotated[str | None, typer.Option("--only", help="These programs only, with commas between them.")]
_Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes at a time.")]
_Shard = Annotated[str | None, typer.Option(help="Answer only part I of N: 2/8; all without --shard gathers.")]
_Source = Annotated[Path, typer.Option(help="Terrace's source tree, for the workloads.")]
_CORES = os.cpu_count() or 1


@app.callback()
def experiment() -> None:
    """The published studies once more: ours beside theirs."""


@app.command("unimem", epilog=_EPILOG.format(name="unimem"))
def run_unimem(
    output: _Output = None,
    problem_class: _Class = "W",
    small: _Small = False,
    only: _Only = None,
    jobs: _Jobs = _CORES,
    shard: _Shard = None,
    source: _Source = Path(),
) -> None:
    """Unimem's evaluation: slowdowns, placement against the bound and the baselines, techniques, moves."""
    programs = unimem.SMALL if small and only is None else chosen(only, unimem.PROGRAMS)
    setting = Setting(programs, "S" if small else problem_class, small)
    _run("unimem", setting, unimem.cells, unimem_page.report, output, source, jobs, shard)


@app.command("two-level", epilog=_EPILOG.format(name="two-level"))
def run_two_level(
    output: _Output = None,
    problem_class: _Class = "W",
    small: _Small = False,
    only: _Only = None,
    jobs: _Jobs = _CORES,
    shard: _Shard = None,
    source: _Source = Path(),
) -> None:
    """The two-level-memory study: STREAM, a hydrodynamics code, and which metric picks the right data."""
    programs = two_level.SMALL if small and only is None else chosen(only, two_level.PROGRAMS)
    setting = Setting(programs, "S" if small else problem_class, small)
    _run("two-level", setting, two_level.cells, two_level_page.report, output, source, jobs, shard)


def _run(
    name: str,
    setting: Setting,
    cells: Callable[[Setting], Sequence[Cell]],
    report: Callable[[Setting, Answers], Report],
    output: Path | None,
    source: Path,
    jobs: int,
    shard: str | None,
) -> None:
    if setting.problem_class not in CLASSES:
        raise WrongCallError(f"--class {setting.problem_class}: there are {', '.join(CLASSES)}")
    part = parse_shard(shard) if shard else None
    folder = output or Path("out") / name
    place = Place(folder, source, setting.problem_class)
    _settle(folder, {"experiment": name, "class": setting.problem_class})
    asked = list(cells(setting))
    done = run(place, asked, jobs, part)
    print(f"{done.answered} cells answered, {done.before} had been; {folder}")
    if part is None:
        report(setting, Answers(folder)).write(folder)
        print(f"tables and pictures: {folder}; report: {folder / 'report.html'}")
    elif done.missing:
        print(f"{done.missing} of {len(asked)} cells are other shards'; with all there, run without --shard")


def _settle(folder: Path, settings: dict[str, Any]) -> None:
    """A folder holds one experiment in one class: answers of another one must not pass for this one's."""
    path = folder / "settings.json"
    wanted = document(settings)
    if not path.exists():
        write_whole(path, wanted)
        return
    there = path.read_text(encoding="utf-8")
    if there != wanted:
        said = json.loads(there)
        raise WrongCallError(
            f"{folder} holds {said.get('experiment')} in class {said.get('class')} (schema {said.get('schema')}): "
            "name another folder with --output"
        )
