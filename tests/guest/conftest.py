"""One guest for all the tests here: it runs jobs.sh, and the tests look at what that left."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "guest_bed"))

import accounts
import cg_plans
import vm
from results import JobResults

HERE = Path(__file__).parent
BUILD = Path(os.environ.get("TERRACE_BUILD", HERE.parents[1] / "build" / "release"))
# The near node is the smaller one: the machine's home is far memory, as with high-bandwidth memory beside DDR.
NODES = "192M:cpu:100ns:16384,512M:400ns:2048"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "guest: needs a virtual machine with several kinds of memory")


@dataclass(frozen=True)
class Results(JobResults):
    """What the guest left."""

    plans: Path

    def run(self, job: str, program: str) -> accounts.Run:
        return accounts.read_run(self.folder / f"{job}.terrace", program)

    def samples(self, job: str) -> list[accounts.Sample]:
        (dump,) = self.folder.glob(f"{job}.audit.*")
        return accounts.read_samples(dump)


# What follows plans that move data inside phases: program, its words, bytes of fast memory, progress of the plan.
_NPB = ("--class", "W", "--iterations", "3")
_STREAMS = (
    ("cg", _NPB, "4MiB", ("accesses", "timer")),
    ("mg", _NPB, "12MiB", ("timer", "sentinel")),
    ("hydro", ("--side", "256", "--steps", "3"), "8MiB", ("timer", "sentinel")),
)


def _streaming_plan(
    build: Path, folder: Path, name: str, arguments: tuple[str, ...], fast: str, progress: str
) -> None:
    """The plan of `auto` for the hooked program on the guest's machine file, and what virtual time makes of it."""
    program = build / "tests/guest/hooked" / name
    stem = f"{name}_{progress}"
    profile, plan = folder / f"profile_{stem}.terrace", build / f"tests/guest/stream_{stem}.toml"
    virtual = folder / f"virtual_{stem}.terrace"
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


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Boots the guest, once."""
    if lacks := vm.missing():
        pytest.skip("no guest here, for want of " + "; ".join(lacks))
    build = BUILD.resolve()
    folder = tmp_path_factory.mktemp("guest")
    # Plans name objects by source line: asked of the program itself, here on the host.
    for problem_class, make in (("S", cg_plans.class_s), ("W", cg_plans.class_w)):
        store = folder / f"probe_{problem_class}.terrace"
        subprocess.run(
            [
                build / "src/cli/terrace",
                "run",
                "--quiet",
                "-o",
                store,
                "--",
                build / "workloads/cg",
                "--class",
                problem_class,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        plan = build / f"tests/guest/cg_{problem_class.lower()}.toml"
        plan.write_text(make(accounts.read_run(store, "cg")))
    for name, arguments, fast, progresses in _STREAMS:
        for progress in progresses:
            _streaming_plan(build, folder, name, arguments, fast, progress)
    status, output = vm.run(
        [str(HERE / "jobs.sh"), str(build)], vm.parse_nodes(NODES), cwd=HERE, out=folder, timeout=700
    )
    assert status == 0, output
    return Results(folder, build / "tests/guest")
