"""Fixture: boots one guest with four nodes, which runs jobs.sh; tests read its results."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "guest_bed"))

import vm
from results import JobResults

HERE = Path(__file__).parent
SOAK = bool(os.environ.get("TERRACE_SOAK"))
BUILD = Path(os.environ.get("TERRACE_BUILD", HERE.parents[1] / "build" / "release"))
# Two sockets as in a Xeon Max in flat mode: the processors' own memory is ordinary, and each has faster memory
# whose latency is higher. Distances are those that such a machine states. The module of non-volatile memory
# becomes a node last of all; the kernel's blocks of 128 MiB leave 384 of it.
NODES = (
    "192M:cpu=1:100ns/180ns:4096/2048:dist=10/21/13/23/17",
    "256M:cpu=1:180ns/100ns:2048/4096:dist=21/10/23/13/28",
    "96M:near=0:130ns/210ns:16384/3000:dist=13/23/10/23/28",
    "128M:near=1:210ns/130ns:3000/16384:dist=23/13/23/10/28",
    "512M:nvdimm:near=0:350ns/400ns:1024/800:dist=17/28/28/28/10",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "guest: needs a virtual machine with several kinds of memory")
    config.addinivalue_line("markers", "soak: looks at jobs that only the whole suite runs (TERRACE_SOAK=1)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves what is marked soak to the whole suite."""
    later = [] if SOAK else [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


@dataclass(frozen=True)
class KernelNode:
    """The kernel's figures of a node, and of the path to it from the nearest processors."""

    size: int  # bytes
    distances: list[int]
    figures: dict[str, int] = field(default_factory=dict)  # bandwidths in MiB/s, latencies in ns

    @property
    def initiators(self) -> set[int]:
        return {int(name.removeprefix("node")) for name in self.figures if name.startswith("node")}


@dataclass(frozen=True)
class Results(JobResults):
    """Files that the guest left."""

    def json(self, job: str):
        assert self.status(job) == 0, self.errors(job)
        return json.loads(self.text(job))

    def nodes(self, job: str) -> dict[int, KernelNode]:
        """Parses the kernel's figures of the nodes: lines of "file:text" below /sys/devices/system/node."""
        files = [line.split(":", 1) for line in self.text(job).splitlines()]
        nodes: dict[int, KernelNode] = {}
        for path, text in files:
            name, *rest = path.split("/")
            number = int(name.removeprefix("node"))
            if rest == ["distance"]:
                size = next(one for at, one in files if at == f"{name}/meminfo" and "MemTotal" in one)
                nodes[number] = KernelNode(int(size.split()[-2]) << 10, [int(one) for one in text.split()])
        for path, text in files:
            name, *rest = path.split("/")
            if rest[:2] == ["access0", "initiators"]:
                nodes[int(name.removeprefix("node"))].figures[rest[2]] = int(text or 0)
        return nodes


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Boots the guest, once."""
    if lacks := vm.missing():
        pytest.skip("no guest here, for want of " + "; ".join(lacks))
    folder = tmp_path_factory.mktemp("guest4")
    status, output = vm.run(
        [str(HERE / "jobs.sh"), str(BUILD.resolve()), *(["soak"] if SOAK else [])],
        vm.parse_nodes(",".join(NODES)),
        cwd=HERE,
        out=folder,
        timeout=3000,
    )
    assert status == 0, output
    return Results(folder)
