"""Provides the criteria of acceptance/gpu-placement with the study's answers, traces of programs and changed
machine files."""

from __future__ import annotations

import functools
import re
from typing import Any

from harness import ROOT, SETTINGS, Unavailable, work
from planning_lines.common import experimented
from terrace import _core
from terrace.lab.experiment import ccnuma
from terrace.lab.experiment.warp_study import FEW

Run = dict[str, Any]


def programs() -> list[str]:
    """Returns the names of all shipped GPU programs."""
    return [name for name, *_ in _core.gpu_programs()]


def size() -> str:
    """Returns the size of the programs that this call asks for."""
    return FEW if getattr(SETTINGS, "small", False) else "paper"


@functools.cache
def study() -> ccnuma.Study:
    """Returns `terrace lab experiment ccnuma`, whole: the given folder's, or a run here, which resumes if
    interrupted. Raises Unfinished if the time budget has ended, Unavailable if a given folder lacks answers."""
    small = size() == FEW
    folder = getattr(SETTINGS, "study", None)
    if folder is None:
        folder = experimented("ccnuma", size(), *(["--small"] if small else []))
    found = ccnuma.Study(folder / size(), programs(), size(), small)
    if missing := found.missing():
        raise Unavailable(
            f"--study {folder} lacks {len(missing)} answers: finish the experiment, or omit the option"
        )
    return found


def answers() -> list[tuple[str, ccnuma.Rule, Run]]:
    """Yields every answer of the study: program, rule, run."""
    return [(name, rule, study().get(name, rule)) for name in study().programs for rule in study().rules]


@functools.cache
def trace(program: str, of: str = "test") -> str:
    """Returns the path of a program's trace of warps, which each call of this program makes once."""
    path = work("gpu-placement") / "traces" / f"{program}-{of}.warps"
    path.parent.mkdir(parents=True, exist_ok=True)
    _core.write_warps(program, of, str(path))
    return str(path)


def machine(**changed: int) -> _core.Machine:
    """Returns the study's machine with other numbers in [[gpu]], [gpu.l1] (`l1_mshrs`) and its memories
    (`refresh`)."""
    text = (ROOT / "machines" / f"{ccnuma.MACHINE}.toml").read_text(encoding="utf-8")
    for key, number in changed.items():
        if key == "refresh":
            text = re.sub(r"(?m)^refresh = \d+", f"refresh = {number}", text)
            continue
        table, name = ("[gpu.l1]", "mshrs") if key == "l1_mshrs" else ("[[gpu]]", key)
        before, head, after = text.partition(f"\n{table}")
        after, times = re.subn(rf"(?m)^{name} = \d+", f"{name} = {number}", after, count=1)
        if times != 1:
            raise LookupError(f"{ccnuma.MACHINE} has no {name} in {table}")
        text = before + head + after
    path = (
        work("gpu-placement")
        / "machines"
        / ("-".join(f"{key}-{number}" for key, number in changed.items()) + ".toml")
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return _core.Machine.read(str(path))
