"""Fixture: boots one guest, which runs jobs.sh; tests read its results."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "guest_bed"))

import accounts
import make_plans
import vm
from results import JobResults

HERE = Path(__file__).parent
SOAK = bool(os.environ.get("TERRACE_SOAK"))
BUILD = Path(os.environ.get("TERRACE_BUILD", HERE.parents[1] / "build" / "release"))
# The near node is the smaller one: the machine's home is far memory, as with high-bandwidth memory next to DDR.
NODES = "192M:cpu:100ns:16384,512M:400ns:2048"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "guest: needs a virtual machine with several kinds of memory")
    config.addinivalue_line("markers", "soak: looks at jobs that only the whole suite runs (TERRACE_SOAK=1)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves what is marked soak to the whole suite."""
    later = [] if SOAK else [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


@dataclass(frozen=True)
class Results(JobResults):
    """Files that the guest left."""

    plans: Path  # folder of the plans, and of some runs of theirs in virtual time

    def run(self, job: str, program: str) -> accounts.Run:
        return accounts.read_run(self.folder / f"{job}.terrace", program)

    def samples(self, job: str) -> list[accounts.Sample]:
        (dump,) = self.folder.glob(f"{job}.audit.*")
        return accounts.read_samples(dump)


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Boots the guest, once."""
    if lacks := vm.missing():
        pytest.skip("no guest here, for want of " + "; ".join(lacks))
    build = BUILD.resolve()
    folder = tmp_path_factory.mktemp("guest")
    # ctest has made them in parallel with other tests.
    if "TERRACE_GUEST_PLANS" not in os.environ:
        make_plans.make_all(build, SOAK)
    status, output = vm.run(
        [str(HERE / "jobs.sh"), str(build), *(["soak"] if SOAK else [])],
        vm.parse_nodes(NODES),
        cwd=HERE,
        out=folder,
        timeout=3000,
    )
    assert status == 0, output
    return Results(folder, make_plans.folder_in(build))
