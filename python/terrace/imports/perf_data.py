# SPDX-License-Identifier: Apache-2.0
"""Parses `perf.data` files of Linux perf: samples with data addresses, and mappings. perf_mem.py turns them into a
profile.

Rejects files in pipe format, compressed files, and files of the other byte order.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from terrace.imports.measured import DamagedError, OtherKindError

_MAGIC, _MAGIC_ELSEWHERE = b"PERFILE2", b"2ELIFREP"
_HEADER = struct.Struct("<8sQQQQQQQQ")  # magic, size, size of an attribute, attributes, data, event types
_PIPE_HEADER_SIZE = 16
_RECORD = struct.Struct("<IHH")  # type, misc, size
_ATTRIBUTE = struct.Struct("<IIQQQQQ")  # type, size, config, period, sample type, read format, flags
_MIN_ATTRIBUTE = 64
MAX_EVENTS = 4096
_RECORD_AGAIN = "record again with `perf mem record`"

# Bits of an attribute's sample type, in the order of their meaning, not of the fields.
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW = (1 << bit for bit in range(11))
BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER = (1 << bit for bit in range(11, 17))
WEIGHT_STRUCT = 1 << 24
_VARIABLE = READ | CALLCHAIN | RAW | BRANCH_STACK | REGS_USER | STACK_USER
_FREQUENCY, _SAMPLE_ID_ALL = 1 << 10, 1 << 18
_HARDWARE_INDEX = 1 << 17  # of branch_sample_type
_FORMAT_TOTALS, _FORMAT_ID, _FORMAT_GROUP, _FORMAT_LOST = 0b11, 1 << 2, 1 << 3, 1 << 4

# Record types.
MMAP, LOST, COMM, FORK, SAMPLE, MMAP2, LOST_SAMPLES = 1, 2, 3, 7, 9, 10, 13
_COMPRESSED = (81, 83)
_EXEC = 1 << 13  # of a COMM record's misc


@dataclass
class Attribute:
    """A recorded event (perf_event_attr)."""

    period: int  # 0: by frequency
    sample_type: int
    read_format: int = 0
    branch_type: int = 0
    user_registers: int = 0
    has_ids: bool = True  # records other than samples have a time stamp
    ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Sample:
    """A sampled access or other event. Fields that were not recorded are 0."""

    process: int
    time: int  # ns
    address: int
    period: int
    weight: int  # cycles, where the event has them
    source: int  # perf_mem_data_src


@dataclass
class Mapping:
    """A file, or a kernel name such as [heap], mapped at [low, high)."""

    process: int
    time: int
    low: int
    high: int
    offset: int
    name: str


@dataclass
class ProcessStart:
    """A fork or exec: a new process, or a process that starts another program."""

    process: int
    time: int
    parent: int | None  # if None: exec
    name: str = ""


@dataclass
class PerfRecords:
    """Contents of a file."""

    samples: list[Sample]
    mappings: list[Mapping]
    begun: list[ProcessStart]
    lost: int
    has_weight: bool
    has_source: bool


def read(path: Path) -> PerfRecords:
    """Reads a file. Raises DamagedError with a one-line message."""
    if path.stat().st_size == 0:
        raise OtherKindError(f"{path}: empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return parse(whole, str(path))


def parse(data: bytes | mmap.mmap, file: str = "the file") -> PerfRecords:
    """Parses the bytes of a file, as read()."""
    try:
        return _Reader(data).read()
    except DamagedError as error:
        raise type(error)(f"{file}: {error}") from None
    except struct.error:
        raise DamagedError(f"{file}: a record is truncated; {_RECORD_AGAIN}") from None


class _Reader:
    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data = data
        self.by_id: dict[int, Attribute] = {}
        self.attributes: list[Attribute] = []
        self.leading: dict[int, tuple[list[int], struct.Struct]] = {}
        self.result = PerfRecords([], [], [], 0, False, False)

    def read(self) -> PerfRecords:
        """Parses the whole file: samples, mappings and process starts, in the order of the file."""
        begin, end = self._header()
        for at, kind, misc, high in self._records(begin, end):
            if kind == SAMPLE:
                self._sample(at, high)
            elif kind in (MMAP, MMAP2):
                self._mapping(at, high, kind)
            elif kind in (COMM, FORK):
                self._begun(at, high, kind, misc)
            elif kind in (LOST, LOST_SAMPLES):
                self.result.lost += struct.unpack_from(
                    "<Q", self._within(at, high, 16 if kind == LOST else 8), -8
                )[0]
            elif kind in _COMPRESSED:
                raise DamagedError("compressed (perf record -z): import PLAIN of `perf inject -i FILE -o PLAIN`")
        types = self.attributes
        self.result.has_weight = any(one.sample_type & (WEIGHT | WEIGHT_STRUCT) for one in types)
        self.result.has_source = any(one.sample_type & DATA_SRC for one in types)
        return self.result

    def _within(self, at: int, end: int, size: int) -> bytes:
        if at + size > end:
            raise DamagedError(f"a record is truncated; {_RECORD_AGAIN}")
        return self.data[at : at + size]

    def _section(self, offset: int, size: int, what: str) -> tuple[int, int]:
        if offset + size > len(self.data):
            raise DamagedError(f"truncated: section '{what}' extends beyond the end of the file; {_RECORD_AGAIN}")
        return offset, offset + size

    def _header(self) -> tuple[int, int]:
        """Checks the file's header, reads its events, and returns where the records begin and end."""
        magic = self.data[:8]
        if magic == _MAGIC_ELSEWHERE:
            raise DamagedError(
                "byte order is big-endian, which is not supported; record on a little-endian machine"
            )
        if magic != _MAGIC:
            raise OtherKindError(
                "not a perf.data file: it does not begin with PERFILE2; name a file that `perf record` wrote"
            )
        size = struct.unpack_from("<Q", self._within(8, len(self.data), 8))[0]
        if size == _PIPE_HEADER_SIZE:
            raise DamagedError(
                "in perf's pipe format, which is not supported; record to a file with `perf mem record -o FILE`"
            )
        if size < _HEADER.size or len(self.data) < size:
            raise DamagedError(f"the header is truncated; {_RECORD_AGAIN}")
        _, _, of_attribute, *sections = _HEADER.unpack_from(self.data, 0)
        begin, end = self._section(sections[0], sections[1], "attributes")
        if of_attribute < _MIN_ATTRIBUTE + 16 or (end - begin) % of_attribute != 0:
            raise DamagedError(f"the event attributes have an invalid size; {_RECORD_AGAIN}")
        count = (end - begin) // of_attribute
        if not 1 <= count <= MAX_EVENTS:
            raise DamagedError(f"the header claims {count} events, not 1 to {MAX_EVENTS}; {_RECORD_AGAIN}")
        for at in range(begin, end, of_attribute):
            self._attribute(at, at + of_attribute)
        if sections[3] == 0:
            raise DamagedError(
                f"no data: perf was killed before it finished the file; {_RECORD_AGAIN}, and let perf end"
            )
        return self._section(sections[2], sections[3], "data")

    def _attribute(self, at: int, end: int) -> None:
        """Reads the description of one event, which states the layout of its samples."""
        _, _, _, period, sample_type, read_format, flags = _ATTRIBUTE.unpack_from(self.data, at)
        one = Attribute(0 if flags & _FREQUENCY else period, sample_type, read_format)
        one.has_ids = bool(flags & _SAMPLE_ID_ALL)
        if end - 16 - at >= 88:
            one.branch_type, one.user_registers = struct.unpack_from("<QQ", self.data, at + 72)
        offset, size = struct.unpack_from("<QQ", self.data, end - 16)
        low, high = self._section(offset, size, "events' numbers")
        one.ids = [number for (number,) in struct.iter_unpack("<Q", self.data[low : low + (high - low) // 8 * 8])]
        self.by_id.update(dict.fromkeys(one.ids, one))
        self.attributes.append(one)

    def _records(self, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Yields begin, type, misc and end of each record."""
        at = begin
        while at < end:
            if end - at < _RECORD.size:
                raise DamagedError(f"the record at byte {at} is truncated; {_RECORD_AGAIN}")
            kind, misc, size = _RECORD.unpack_from(self.data, at)
            if size < _RECORD.size or at + size > end:
                raise DamagedError(
                    f"the record at byte {at} claims {size} bytes, but only {end - at} are left; {_RECORD_AGAIN}"
                )
            yield at + _RECORD.size, kind, misc, at + size
            at += size

    def _attribute_of(self, at: int, end: int) -> Attribute:
        """Returns the attribute of the sample at `at`: by its identifier, if there are several."""
        first = self.attributes[0]
        if len(self.attributes) == 1:
            return first
        if first.sample_type & IDENTIFIER:
            number = struct.unpack_from("<Q", self._within(at, end, 8))[0]
        elif first.sample_type & ID:
            before = (IP, TID, TIME, ADDR)
            skipped = 8 * sum(1 for bit in before if first.sample_type & bit)
            number = struct.unpack_from("<Q", self._within(at + skipped, end, 8))[0]
        else:
            raise DamagedError(
                "its samples do not state which of several events they count; record one event (perf record -e)"
            )
        if number not in self.by_id:
            raise DamagedError(f"a sample refers to the unknown event {number}; {_RECORD_AGAIN}")
        return self.by_id[number]

    def _sample(self, at: int, end: int) -> None:
        """Reads one sample: address, time, process, weight and source of the data."""
        one = self._attribute_of(at, end)
        kind = one.sample_type
        fields, layout = self._leading(kind)
        values = dict(zip(fields, layout.unpack(self._within(at, end, layout.size)), strict=True))
        at += layout.size
        weight = source = 0
        if kind & (WEIGHT | WEIGHT_STRUCT | DATA_SRC):
            at = self._behind_variable_parts(one, at, end)
            if kind & (WEIGHT | WEIGHT_STRUCT):
                weight = struct.unpack_from("<Q", self._within(at, end, 8))[0]
                weight = weight & 0xFFFFFFFF if kind & WEIGHT_STRUCT else weight
                at += 8
            if kind & DATA_SRC:
                source = struct.unpack_from("<Q", self._within(at, end, 8))[0]
        period = max(values.get(PERIOD, one.period), 1)
        process = values.get(TID, 0) & 0xFFFFFFFF
        self.result.samples.append(
            Sample(process, values.get(TIME, 0), values.get(ADDR, 0), period, weight, source)
        )

    def _leading(self, kind: int) -> tuple[list[int], struct.Struct]:
        """Returns the 8-byte fields with which samples of that type begin."""
        known = self.leading.get(kind)
        if known is None:
            fields = [bit for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD) if kind & bit]
            known = self.leading[kind] = (fields, struct.Struct(f"<{len(fields)}Q"))
        return known

    def _behind_variable_parts(self, one: Attribute, at: int, end: int) -> int:
        """Returns the offset behind a sample's parts of variable length (counters, stacks, registers)."""

        def number() -> int:
            return int(struct.unpack_from("<Q", self._within(at, end, 8))[0])

        kind = one.sample_type
        if not kind & _VARIABLE:
            return at
        if kind & READ:
            each = 1 + bool(one.read_format & _FORMAT_ID) + bool(one.read_format & _FORMAT_LOST)
            totals = (one.read_format & _FORMAT_TOTALS).bit_count()
            is_group = bool(one.read_format & _FORMAT_GROUP)
            at += 8 * ((1 + totals + number() * each) if is_group else each + totals)
        if kind & CALLCHAIN:
            at += 8 * (1 + number())
        if kind & RAW:
            at += 4 + struct.unpack_from("<I", self._within(at, end, 4))[0]
        if kind & BRANCH_STACK:
            at += 8 * (1 + bool(one.branch_type & _HARDWARE_INDEX)) + 24 * number()
        if kind & REGS_USER:
            at += 8 * (1 + (one.user_registers.bit_count() if number() else 0))
        if kind & STACK_USER:
            size = number()
            at += 8 + size + (8 if size else 0)
        return at

    def _time_of(self, end: int) -> int:
        """Returns the time of a record that is not a sample: it follows the record's own fields, at the end."""
        one = self.attributes[0]
        if not one.has_ids or not one.sample_type & TIME:
            return 0
        behind = sum(8 for bit in (TIME, ID, STREAM_ID, CPU, IDENTIFIER) if one.sample_type & bit)
        return int(struct.unpack_from("<Q", self.data, end - behind)[0])

    def _trailer(self) -> int:
        one = self.attributes[0]
        fields = (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER)
        return sum(8 for bit in fields if one.sample_type & bit) if one.has_ids else 0

    def _text(self, at: int, end: int) -> str:
        return self.data[at : max(at, end - self._trailer())].partition(b"\0")[0].decode(errors="replace")

    def _mapping(self, at: int, end: int, kind: int) -> None:
        """Adds a mapping of a process (an mmap record)."""
        process, _, low, length, offset = struct.unpack_from("<IIQQQ", self._within(at, end, 32))
        own = 32 + (32 if kind == MMAP2 else 0)
        self._within(at, end, own + self._trailer())
        if length == 0 or low + length >= 1 << 63:
            return  # a mapping of the kernel
        name = self._text(at + own, end)
        self.result.mappings.append(Mapping(process, self._time_of(end), low, low + length, offset, name))

    def _begun(self, at: int, end: int, kind: int, misc: int) -> None:
        """Adds the start of a process, by fork or exec."""
        process, other = struct.unpack_from("<II", self._within(at, end, 8 + self._trailer()))
        if kind == FORK and process != other:
            self.result.begun.append(ProcessStart(process, self._time_of(end), other))
        elif kind == COMM and misc & _EXEC:
            self.result.begun.append(ProcessStart(process, self._time_of(end), None, self._text(at + 8, end)))
        elif kind == COMM:
            self.result.begun.append(ProcessStart(process, self._time_of(end), process, self._text(at + 8, end)))
