"""Makes the guest's plans and their expected moves in virtual time, on the host: `make_plans.py BUILD [soak]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "guest_bed"))

import accounts
import cg_plans
import vm

HERE = Path(__file__).parent


def folder_in(build: Path) -> Path:
    """Returns the folder of plans, and of runs in virtual time."""
    return build / "tests" / "guest"


# Runs under plans that move data inside phases: program, its words, bytes of fast memory, progress of the plan.
# They are for the whole suite.
_NPB = ("--class", "W", "--iterations", "3")
_STREAMS = (
    ("mg", _NPB, "12MiB", ("sentinel", "timer")),
    ("cg", _NPB, "4MiB", ("accesses", "timer")),
    ("hydro", ("--side", "256", "--steps", "3"), "8MiB", ("timer", "sentinel")),
)


def _streaming_plan(
    build: Path, scratch: Path, name: str, arguments: tuple[str, ...], fast: str, progress: str
) -> None:
    """Writes the plan of `auto` for the hooked program on the guest's machine file, and simulates it."""
    built_by = "guest" if name == "hydro" else "integration"
    program = build / "tests" / built_by / "hooked" / name
    stem = f"{name}_{progress}"
    profile = scratch / f"profile_{stem}.terrace"
    plan, virtual = folder_in(build) / f"stream_{stem}.toml", folder_in(build) / f"virtual_{stem}.terrace"
    machine: list[str | Path] = ["--machine", HERE / "guest.toml", "--progress"]
    collector = ["--collector", "simulated-sampling"]
    followed = "sentinel" if progress == "accesses" else progress  # as the real run does
    commands: list[list[str | Path]] = [
        ["record", *collector, *machine, progress, "-o", profile, "--", program, *arguments],
        ["plan", profile, "--fast", fast, "-o", plan],
        ["simulate", *machine, followed, "--plan", plan, "-o", virtual, "--", program, *arguments],
    ]
    for command in commands:
        verb = [Path(sys.executable).parent / "terrace", *command]
        subprocess.run(verb, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _hand_written(build: Path, scratch: Path) -> None:
    """Plans name objects by source line: asked of the program itself."""
    for problem_class, make in (("S", cg_plans.class_s), ("W", cg_plans.class_w)):
        store = scratch / f"probe_{problem_class}.terrace"
        command = [build / "src/cli/terrace", "run", "--quiet", "-o", store, "--", build / "workloads/cg"]
        subprocess.run([*command, "--class", problem_class], check=True, stdout=subprocess.DEVNULL)
        plan = folder_in(build) / f"cg_{problem_class.lower()}.toml"
        plan.write_text(make(accounts.read_run(store, "cg")))


def make_all(build: Path, soak: bool) -> None:
    """Makes anew what `make test` follows, or all of them."""
    plans = [(*stream, progress) for *stream, progresses in _STREAMS for progress in progresses]
    with tempfile.TemporaryDirectory() as scratch:
        _hand_written(build, Path(scratch))
        for name, arguments, fast, progress in plans if soak else []:
            _streaming_plan(build, Path(scratch), name, arguments, fast, progress)


if __name__ == "__main__":
    if lacks := vm.missing():
        print("no guest here, for want of " + "; ".join(lacks))
    else:
        make_all(Path(sys.argv[1]).resolve(), soak="soak" in sys.argv[2:])
