"""Writes machines as hwloc exports them (`lstopo machine.xml`), each from published data.

The files are kept in git, because tests read them. `make.py` writes them anew, `make.py --check` compares them.
They omit hardware threads beyond one a core, the kernel's reserve of each node, first-level caches, and devices.

Memory figures (HMAT) are present where Linux exposes them: for the nearest cores of each node only. hwloc attaches
nodes without cores to the nearest ones.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
FOLDER = Path(__file__).parent


@dataclass
class Node:
    """A NUMA node: its memory and its known figures."""

    number: int
    size: int
    subtype: str = ""
    infos: dict[str, str] = field(default_factory=dict)
    bandwidth: int = 0  # MB/s (10^6), 0: no figure
    latency: int = 0  # ns


@dataclass
class Part:
    """A package, or a part of one: cores with their nodes and caches."""

    nodes: Sequence[Node]
    cores: int
    caches: Sequence[tuple[str, int, int, int]]  # type, size, ways, cores of each; from the outermost inwards


@dataclass
class Saved:
    """A machine."""

    name: str
    processor: str
    packages: Sequence[Sequence[Part]]
    distances: Sequence[Sequence[int]] = ()  # by node, in the order of their numbers; empty: hwloc has none


def knl_flat() -> Saved:
    """Intel Xeon Phi 7210, flat and quadrant: node 0 is DDR4, node 1 MCDRAM without cores.

    Sources: Intel's product specification of the 7210 (64 cores in tiles of two that share 1 MiB of L2);
    Chapel's pull request 5555 and hwloc's issue 233 (numbers of nodes). The firmware has no HMAT. hwloc knows
    MCDRAM by the processor, names it, and drops the system's distances (31 to MCDRAM), which contradict what
    is near (its issue 209).
    """
    nodes = [Node(0, 96 * GIB), Node(1, 16 * GIB, "MCDRAM")]
    part = Part(nodes, 64, [("L2Cache", MIB, 16, 2)])
    return Saved("knl-7210-flat", "Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", [[part]])


def knl_snc4() -> Saved:
    """Intel Xeon Phi 7210 in SNC-4: each quarter has its own DDR4 (nodes 0 to 3) and MCDRAM (nodes 4 to 7).

    Sources: as above.
    """
    parts = [
        Part([Node(q, 24 * GIB), Node(4 + q, 4 * GIB, "MCDRAM")], 16, [("L2Cache", MIB, 16, 2)]) for q in range(4)
    ]
    return Saved("knl-7210-snc4", "Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", [parts])


def xeon_max() -> Saved:
    """Two Intel Xeon Max 9480, flat and SNC4: DDR5 is nodes 0 to 7, HBM2e nodes 8 to 15 without cores.

    Sources: the Unified Memory Framework's issue 1289 (numactl -H of two 9468 in this mode: numbers and sizes
    of nodes); Argonne's user guide of Aurora (distances in quadrant mode: 10 own DDR5, 13 own HBM, 21 and 23
    the other socket's; 12 and 14 to other quarters of the same socket are an assumption); Intel's product
    specification: four tiles of 14 cores, 16 GiB of HBM2e, two channels of DDR5-4800 (76.8 GB/s, its peak).
    HBM's peak of 1,638.4 GB/s a socket and the latencies are those of machines/xeon-max-9480-snc4.toml.
    Firmware gives an HMAT. Not every version of hwloc names HBM; here it is to be told from its figures.
    """
    packages = [
        [
            Part(
                [
                    Node(q, 64 * GIB, bandwidth=76800, latency=103),
                    Node(8 + q, 16 * GIB, bandwidth=409600, latency=120),
                ],
                14,
                [("L3Cache", 28800 * KIB, 15, 14), ("L2Cache", 2 * MIB, 16, 1)],
            )
            for q in range(4 * socket, 4 * socket + 4)
        ]
        for socket in range(2)
    ]

    def distance(i: int, j: int) -> int:
        if i == j:
            return 10
        hbm = (i >= 8) + (j >= 8)
        if i % 8 == j % 8:
            return 13
        if i % 8 // 4 == j % 8 // 4:
            return 12 + 2 * (hbm > 0)
        return 21 + 2 * (hbm > 0)

    distances = [[distance(i, j) for j in range(16)] for i in range(16)]
    return Saved("xeon-max-9480-snc4", "Intel(R) Xeon(R) CPU Max 9480", packages, distances)


def ddr_cxl() -> Saved:
    """Two sockets with 52 cores, each with DDR5 and a CXL expander that is a node without cores.

    Sources: S. Scargall, "How to map a CXL endpoint to a CPU socket in Linux" (2022): numactl -H with cores,
    sizes and distances; Linux's drivers/cxl (ACPI0017, the root of CXL devices, of which the path of the DAX
    device tells). Linux 6.10 and later show figures of CXL memory, too. DDR5: the peak of eight channels at
    4800 MT/s; the other figures are those of machines/hbm-ddr-cxl-2domains.toml.
    """
    caches = [("L3Cache", 105 * MIB, 15, 52), ("L2Cache", 2 * MIB, 16, 1)]
    packages = []
    for socket, size in enumerate((64, 128)):
        parent = f"/sys/devices/platform/ACPI0017:00/root0/decoder0.{socket}/region{socket}/dax_region{socket}"
        expander = Node(
            2 + socket,
            size * GIB,
            infos={"DAXDevice": f"dax{socket}.0", "DAXType": "SPM", "DAXParent": parent},
            bandwidth=50000,
            latency=280,
        )
        packages.append([Part([Node(socket, 64 * GIB, bandwidth=307200, latency=112), expander], 52, caches)])
    distances = [[10, 21, 14, 24], [21, 10, 24, 14], [14, 24, 10, 26], [24, 14, 26, 10]]
    return Saved("ddr-cxl-2sockets", "Intel(R) Xeon(R) Platinum 8470", packages, distances)


def gh200() -> Saved:
    """NVIDIA GH200: Grace's LPDDR5X is node 0, Hopper's HBM3 node 1; nodes 2 to 8 are empty, for MIG instances.

    Sources: NVIDIA's data sheet (72 cores, 480 GB, 96 GB); published output of numactl -H: nine nodes,
    distance 80 from the cores, 255 between nodes of the GPU. hwloc names the GPU's memory. No HMAT.
    """
    nodes = [Node(0, 480 * GIB), Node(1, 96 * GIB, "GPUMemory")] + [Node(n, 0, "GPUMemory") for n in range(2, 9)]
    part = Part(nodes, 72, [("L3Cache", 114 * MIB, 12, 72), ("L2Cache", MIB, 8, 1)])
    distances = [[10 if i == j else 80 if 0 in (i, j) else 255 for j in range(9)] for i in range(9)]
    return Saved("gh200", "Neoverse-V2", [[part]], distances)


def mi300a() -> Saved:
    """Four AMD Instinct MI300A: four nodes with cores, and no memory but HBM3.

    Sources: AMD's data sheet (24 cores in three dies with 32 MiB of L3 each, 128 GB of HBM3); published
    output of numactl -H on a system of four: a node for each, distance 32 between them. No HMAT, and no name:
    only the processor's tells that this is HBM.
    """
    caches = [("L3Cache", 32 * MIB, 16, 8), ("L2Cache", MIB, 8, 1)]
    packages = [[Part([Node(n, 128 * GIB)], 24, caches)] for n in range(4)]
    distances = [[10 if i == j else 32 for j in range(4)] for i in range(4)]
    return Saved("mi300a-4", "AMD Instinct MI300A Accelerator", packages, distances)


class Writer:
    """Writes a machine as hwloc's XML, version 2."""

    def __init__(self, saved: Saved) -> None:
        self.saved = saved
        self.lines: list[str] = []
        self.level = 0
        self.index = 0
        self.targets: list[tuple[Node, int, str]] = []  # a node, the number of its object, its local cores

    def text(self) -> str:
        """Returns the XML file."""
        parts = [part for package in self.saved.packages for part in package]
        cores = range(sum(part.cores for part in parts))
        numbers = [node.number for part in parts for node in part.nodes]
        self.put('<?xml version="1.0" encoding="UTF-8"?>')
        self.put('<!DOCTYPE topology SYSTEM "hwloc2.dtd">')
        self.open('<topology version="2.0">')
        self.begin("Machine", cores, numbers, os_index=0)
        self.info("hwlocVersion", "2.9.0")
        first = 0
        for index, package in enumerate(self.saved.packages):
            first = self.package(index, package, first)
        self.end()
        if self.saved.distances:
            self.distances(sorted(numbers))
        self.figures()
        self.end("topology")
        return "\n".join(self.lines) + "\n"

    def package(self, index: int, parts: Sequence[Part], first: int) -> int:
        """Writes a part and returns the first core after it."""
        all_cores = range(first, first + sum(part.cores for part in parts))
        self.begin("Package", all_cores, [node.number for part in parts for node in part.nodes], os_index=index)
        self.info("CPUModel", self.saved.processor)
        for part in parts:
            cores = range(first, first + part.cores)
            if len(parts) > 1:  # hwloc adds a group for each set of cores with its own nodes
                self.begin("Group", cores, [node.number for node in part.nodes], kind=1001, subkind=0)
            for node in part.nodes:
                self.node(node, cores)
            self.cached(part, cores, part.caches)
            if len(parts) > 1:
                self.end()
            first = cores.stop
        self.end()
        return first

    def node(self, node: Node, cores: range) -> None:
        more: dict[str, object] = {"os_index": node.number, "local_memory": node.size}
        if node.subtype:
            more["subtype"] = node.subtype
        number = self.begin("NUMANode", cores, [node.number], **more)
        self.targets.append((node, number, bits(cores)))
        for name, value in node.infos.items():
            self.info(name, value)
        self.put(f'<page_type size="4096" count="{node.size // 4096}"/>')
        self.end()

    def cached(self, part: Part, cores: range, caches: Sequence[tuple[str, int, int, int]]) -> None:
        """Writes cores below the caches that they share."""
        nodes = [node.number for node in part.nodes]
        if caches:
            (kind, size, ways, each), *inner = caches
            more = {"cache_size": size, "depth": kind[1], "cache_linesize": 64, "cache_associativity": ways}
            for first in range(cores.start, cores.stop, each):
                some = range(first, first + each)
                self.begin(kind, some, nodes, **more, cache_type=0)
                self.cached(part, some, inner)
                self.end()
            return
        for core in cores:
            self.begin("Core", range(core, core + 1), nodes, os_index=core)
            self.begin("PU", range(core, core + 1), nodes, os_index=core)
            self.end()
            self.end()

    def distances(self, numbers: list[int]) -> None:
        """Writes the distance table in hwloc's format: at most ten numbers a line, each line with its length."""
        count = len(numbers)
        self.open(f'<distances2 type="NUMANode" nbobjs="{count}" kind="5" name="NUMALatency" indexing="os">')
        self.numbers("indexes", numbers)
        self.numbers("u64values", [value for row in self.saved.distances for value in row])
        self.end("distances2")

    def numbers(self, tag: str, numbers: list[int]) -> None:
        for at in range(0, len(numbers), 10):
            text = "".join(f"{number} " for number in numbers[at : at + 10])
            self.put(f'<{tag} length="{len(text)}">{text}</{tag}>')

    def figures(self) -> None:
        """Writes bandwidths in MiB/s and latencies in ns; flags: which is better, and that initiators matter."""
        for name, flags in (("Bandwidth", 5), ("Latency", 6)):
            self.open(f'<memattr name="{name}" flags="{flags}">')
            for node, number, cores in self.targets:
                value = node.bandwidth * 10**6 // MIB if name == "Bandwidth" else node.latency
                if value > 0:
                    target = f'target_obj_gp_index="{number}" target_obj_type="NUMANode"'
                    self.put(f'<memattr_value {target} value="{value}" initiator_cpuset="{cores}"/>')
            self.end("memattr")

    def begin(self, type_: str, cores: range, nodes: list[int], **more: object) -> int:
        """Opens an object and returns its number."""
        self.index += 1
        attributes: dict[str, object] = {"type": type_}
        for key, numbers in (("cpuset", bits(cores)), ("nodeset", bits(nodes))):
            attributes |= {key: numbers, f"complete_{key}": numbers}
            if type_ == "Machine":
                attributes[f"allowed_{key}"] = numbers
        attributes |= {"gp_index": self.index, **more}
        self.open(f"<object {' '.join(f'{key}={quoteattr(str(value))}' for key, value in attributes.items())}>")
        return self.index

    def info(self, name: str, value: str) -> None:
        self.put(f"<info name={quoteattr(name)} value={quoteattr(value)}/>")

    def open(self, text: str) -> None:
        self.put(text)
        self.level += 1

    def end(self, tag: str = "object") -> None:
        self.level -= 1
        self.put(f"</{tag}>")

    def put(self, text: str) -> None:
        self.lines.append(" " * self.level + text)


def bits(numbers: Iterable[int]) -> str:
    """Returns a set in hwloc's format: words of 32 bits, the highest first."""
    mask = sum(1 << number for number in numbers)
    words = [f"0x{mask >> at & 0xFFFFFFFF:08x}" for at in range(0, max(mask.bit_length(), 1), 32)]
    return ",".join(reversed(words))


def main() -> int:
    """Writes the files, or with --check compares them."""
    check = sys.argv[1:] == ["--check"]
    status = 0
    for machine in (knl_flat, knl_snc4, xeon_max, ddr_cxl, gh200, mi300a):
        saved = machine()
        path, text = FOLDER / f"{saved.name}.xml", Writer(saved).text()
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} is not what make.py writes: run it")
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
