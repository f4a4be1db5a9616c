# SPDX-License-Identifier: Apache-2.0
"""Converts sampled memory accesses (`perf mem record`, or any event with `perf record -d`) into a profile.

Mappings and variables become objects, and equal time intervals become phases.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from terrace.errors import WrongCallError
from terrace.imports.address_ranges import Ranges
from terrace.imports.data_symbols import ElfData, elf_data
from terrace.imports.measured import PAGE, Cell, Measured, Object, Phase
from terrace.imports.perf_data import Mapping, PerfRecords, ProcessStart, Sample

USUAL_PHASES = 20
MAX_PHASES = 1000
_KERNEL = 1 << 63
_FOR_EVER = 1 << 64

# perf_mem_data_src, as in the kernel's perf_event.h.
_STORE = 4
_LEVEL_NA, _LEVEL_HIT, _LEVEL_MISS, _LEVEL_L3 = 1 << 5, 2 << 5, 4 << 5, 0x40 << 5
_LEVEL_RAM = (0x80 | 0x100 | 0x200) << 5
_NUMBER_SHIFT, _NUMBER_NA = 33, 0xF
_NUMBERS_OF_MEMORY = (0x9, 0xD, 0xE)  # CXL, RAM, PMEM


def level_is_known(source: int) -> bool:
    """Returns whether the sample states the memory level that served it."""
    number = source >> _NUMBER_SHIFT & 0xF
    levels = source & (_LEVEL_HIT | _LEVEL_MISS)
    return number not in (0, _NUMBER_NA) or (levels != 0 and not source & _LEVEL_NA)


def is_of_memory(source: int) -> bool:
    """Returns whether memory, rather than a cache, served it."""
    if source >> _NUMBER_SHIFT & 0xF in _NUMBERS_OF_MEMORY:
        return True
    if source & _LEVEL_MISS and source & _LEVEL_L3:
        return True
    return bool(source & _LEVEL_HIT and source & _LEVEL_RAM)


@dataclass
class Memory:
    """Parameters of the machine that the profile is made for."""

    line: int
    latency: float
    frequency: float


class _Process:
    """The objects of a process, and the mapping from addresses to objects over time."""

    def __init__(self, read_elf: Callable[[str], ElfData]) -> None:
        self.read_elf = read_elf
        self.objects: list[Object] = []
        self.lows: list[int] = []
        self.ranges = Ranges()
        self.static = Ranges()  # sections of loaded files, whatever is mapped there otherwise
        self.by_key: dict[tuple[str, int, int], int] = {}
        self.files: set[tuple[str, int]] = set()

    def begin_program(self) -> None:
        self.ranges, self.static = Ranges(), Ranges()
        self.files.clear()

    def _object(self, name: str, kind: str, low: int, high: int) -> int:
        """Returns the number of an object by name and range; the heap and the stack are one object each, which
        grows."""
        key = (name, low, high) if name not in ("(heap)", "(stack)") else (name, 0, 0)
        if key not in self.by_key:
            self.by_key[key] = len(self.objects)
            self.objects.append(Object(name, kind, high - low, low))
        one = self.objects[self.by_key[key]]
        # The heap and the stack grow.
        top = max(one.address + one.size, high)
        one.address = min(one.address, low)
        one.size = top - one.address
        return self.by_key[key]

    def map(self, mapping: Mapping) -> None:
        """Adds the objects of a mapping: heap, stack, a file's variables, or the mapping itself."""
        name = mapping.name
        if name == "[heap]":
            number = self._object("(heap)", "small", mapping.low, mapping.high)
        elif name.startswith("[stack"):
            number = self._object("(stack)", "stack", mapping.low, mapping.high)
        elif name.startswith("["):
            return  # a kernel mapping such as vdso
        elif name.startswith("/") and not name.startswith(
            ("//", "/dev/zero", "/memfd:", "/SYSV", "/anon_hugepage")
        ):
            self._map_file(mapping)
            return
        else:
            inside = self.ranges.find(mapping.low)
            if inside is not None and self._covers(inside, mapping):
                return  # a part of a mapping changed its protection
            number = self._object("mapping", "mapping", mapping.low, mapping.high)
        self.ranges.add(mapping.low, mapping.high, number)

    def _covers(self, number: int, mapping: Mapping) -> bool:
        one = self.objects[number]
        return one.kind == "mapping" and one.address <= mapping.low and mapping.high <= one.address + one.size

    def _map_file(self, mapping: Mapping) -> None:
        """Adds the variables and segments of an ELF file that is mapped."""
        data = self.read_elf(mapping.name)
        base = Path(mapping.name).name
        segment = next(
            (
                one
                for one in data.segments
                if one.offset <= mapping.offset + PAGE - 1 < one.offset + one.in_file + PAGE
            ),
            None,
        )
        if segment is None:
            self.ranges.add(
                mapping.low, mapping.high, self._object(f"({base})", "mapping", mapping.low, mapping.high)
            )
            return
        bias = mapping.low - mapping.offset + segment.offset - segment.address
        if (mapping.name, bias) in self.files:
            return
        self.files.add((mapping.name, bias))
        for one in data.segments:
            if one.writable and one.in_memory > 0:
                low, high = bias + one.address, bias + one.address + one.in_memory
                self.static.add(low, high, self._object(f"(globals {base})", "fixed", low, high))
        for variable in data.variables:
            low, high = bias + variable.address, bias + variable.address + variable.size
            if self.static.find(low) is not None:
                self.static.add(low, high, self._object(variable.name, "fixed", low, high))

    def find(self, address: int) -> int | None:
        found = self.static.find(address)
        return found if found is not None else self.ranges.find(address)


def measured(
    recorded: PerfRecords,
    memory: Memory,
    process: int | None = None,
    interval: float | None = None,
    read_elf: Callable[[str], ElfData] = lambda name: elf_data(Path(name), PAGE),
) -> Measured:
    """Returns the profile of one process: `process`, or by default the process with the most samples.

    `interval`: seconds of a phase; by default a twentieth of the time between the first and the last sample.
    """
    samples = [one for one in recorded.samples if 0 < one.address < _KERNEL]
    counts = Counter(one.process for one in samples)
    if not counts:
        raise WrongCallError(
            "no sample of the perf file has an address: record with `perf mem record` or `perf record -d`"
        )
    chosen = counts.most_common(1)[0][0] if process is None else process
    if chosen not in counts:
        others = ", ".join(str(number) for number, _ in counts.most_common(10))
        raise WrongCallError(f"--process {chosen}: no sample belongs to it; sampled processes: {others}")
    samples = sorted((one for one in samples if one.process == chosen), key=lambda one: one.time)
    first, last = samples[0].time, samples[-1].time
    length = max(last - first, 1) * 1e-9
    step = interval if interval is not None else length / USUAL_PHASES
    count = max(1, int(length / step + 0.999999)) if step > 0 else 0
    if not 1 <= count <= MAX_PHASES:
        raise WrongCallError(
            f"--interval {step:g}: it divides the {length:g} s of samples into {count} phases; "
            f"give one that makes 1 to {MAX_PHASES}"
        )
    phases = [Phase(f"interval {n}", n * step, (n + 1) * step, 0) for n in range(count)]
    objects, name = _attribute(recorded, samples, phases, chosen, first, step, memory, read_elf)
    known = sum(1 for one in samples if level_is_known(one.source))
    return Measured(
        process=chosen,
        program=name,
        arguments=[name] if name else [],
        objects=objects,
        phases=phases,
        loop="(intervals)",
        notes=_notes(recorded, len(samples), known, len(counts), step),
    )


def _attribute(
    recorded: PerfRecords,
    samples: list[Sample],
    phases: list[Phase],
    chosen: int,
    first: int,
    step: float,
    memory: Memory,
    read_elf: Callable[[str], ElfData],
) -> tuple[list[Object], str]:
    """Attributes samples to objects and time intervals, while mappings come and go; returns the measurement."""
    space = _Process(read_elf)
    all_known = any(level_is_known(one.source) for one in samples)
    name = ""
    until = _lineage(recorded, chosen)
    # Order of events with equal time stamps: exec, mapping, access.
    events: list[tuple[int, int, ProcessStart | Mapping | Sample]] = [
        *((one.time, 0, one) for one in recorded.begun if one.time <= until.get(one.process, -1)),
        *((one.time, 1, one) for one in recorded.mappings if one.time <= until.get(one.process, -1)),
        *((one.time, 2, one) for one in samples),
    ]
    placed: list[tuple[Sample, int | None]] = []
    for _, _, event in sorted(events, key=lambda one: one[:2]):
        if isinstance(event, ProcessStart):
            if event.parent is None:
                space.begin_program()
            name = event.name if event.process == chosen and event.name else name
        elif isinstance(event, Mapping):
            space.map(event)
        else:
            placed.append((event, space.find(event.address)))
    cut = [(one.address, one.chunk_size, one.chunks - 1) for one in space.objects]
    for sample, which in placed:
        at = min(int((sample.time - first) * 1e-9 / step), len(phases) - 1)
        phases[at].samples += 1
        if all_known and not is_of_memory(sample.source):
            continue
        if which is None:
            phases[at].unowned_lines += sample.period
            continue
        low, size, last = cut[which]
        _count(phases[at].cell(which, min((sample.address - low) // size, last)), sample, memory)
    for phase in phases:
        _limit(phase, memory)
    used = sorted({which for phase in phases for which, _ in phase.cells})
    renumbered = {which: number for number, which in enumerate(used)}
    for phase in phases:
        phase.cells = {(renumbered[which], chunk): cell for (which, chunk), cell in phase.cells.items()}
    return [space.objects[which] for which in used], name


def _lineage(recorded: PerfRecords, process: int) -> dict[int, int]:
    """Returns the process and its ancestors, each with the time up to which it shares their history."""
    forks = {one.process: one for one in recorded.begun if one.parent not in (None, one.process)}
    until = {process: _FOR_EVER}
    while (fork := forks.get(process)) is not None and fork.parent is not None and fork.parent not in until:
        until[fork.parent] = min(until[process], fork.time)
        process = fork.parent
    return until


def _count(cell: Cell, sample: Sample, memory: Memory) -> None:
    """Adds a sample to a cell: reads, writes, and the exposed latency that its weight states."""
    cell.samples += 1
    cell.squares += sample.period**2
    if sample.source & 0x1F == _STORE:
        cell.writes += sample.period
        return
    cell.reads += sample.period
    waited = sample.weight / memory.frequency if sample.weight and memory.frequency > 0 else memory.latency
    cell.exposure += sample.period * waited / memory.latency


def _limit(phase: Phase, memory: Memory) -> None:
    """Limits exposed latencies to the duration of the phase, because overlapping latencies add up to more."""
    most = 0.95 * (phase.ended - phase.begun)
    exposed = sum(cell.exposure for cell in phase.cells.values()) * memory.latency
    if exposed > most:
        for cell in phase.cells.values():
            cell.exposure *= most / exposed
        exposed = most
    phase.core = phase.ended - phase.begun - exposed


def _notes(recorded: PerfRecords, samples: int, known: int, processes: int, step: float) -> list[str]:
    """Returns remarks for the profile on what the import assumed and could not attribute."""
    notes = [
        f"imported from perf: {samples} samples with addresses; mappings, the heap as a whole and variables of "
        "a page or more are the objects, intervals of "
        f"{step:.3g} s the phases"
    ]
    if processes > 1:
        notes.append(f"{processes} processes were sampled, and this is one of them: --process names another")
    if recorded.lost:
        notes.append(f"perf lost {recorded.lost} samples or records")
    if known == 0:
        notes.append("samples do not say which level of memory served them: each counts as an access to memory")
    else:
        notes.append(f"{known} of {samples} samples say which level of memory served them; only memory's count")
    if recorded.has_weight:
        notes.append("latencies are as sampled; how far they overlapped is not known: at most 95 % of a phase")
    else:
        notes.append(
            "no latency was sampled: each access exposes that of this machine's memory, at most 95 % of a phase"
        )
    return notes
