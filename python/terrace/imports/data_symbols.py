# SPDX-License-Identifier: Apache-2.0
"""Reads the variables and the writable segments of an ELF file. `terrace import` names addresses that perf sampled
by them.

A missing or damaged file yields nothing; its addresses are then named after the file.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

_IDENT = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LOAD, _WRITABLE = 1, 2
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_OBJECT, _COMMON = 1, 5
_MAX = 256 << 20


@dataclass
class Loaded:
    """A loadable segment: a part of the file and its address relative to the load base."""

    offset: int
    in_file: int
    address: int
    in_memory: int
    writable: bool


@dataclass
class Variable:
    """A variable of at least the requested size."""

    name: str
    address: int
    size: int


@dataclass
class ElfData:
    """Segments and variables of an ELF file."""

    segments: list[Loaded]
    variables: list[Variable]


def elf_data(path: Path, least: int) -> ElfData:
    """Returns the segments, and the variables of at least `least` bytes."""
    try:
        if path.stat().st_size > _MAX:
            return ElfData([], [])
        data = path.read_bytes()
        if not data.startswith(_IDENT):
            return ElfData([], [])
        return ElfData(*_read(data, least))
    except (OSError, ValueError, OverflowError, struct.error):
        return ElfData([], [])


def _read(data: bytes, least: int) -> tuple[list[Loaded], list[Variable]]:
    """Returns the loaded segments of an ELF file's content, and its variables of at least `least` bytes."""
    head = _HEADER.unpack_from(data, 0)
    segments_at, sections_at = head[5], head[6]
    segment_count, section_count = head[10], head[12]
    segments = []
    for number in range(segment_count):
        kind, flags, offset, address, _, in_file, in_memory, _ = _SEGMENT.unpack_from(
            data, segments_at + number * _SEGMENT.size
        )
        if kind == _LOAD:
            segments.append(Loaded(offset, in_file, address, in_memory, bool(flags & _WRITABLE)))
    sections = [
        _SECTION.unpack_from(data, sections_at + number * _SECTION.size) for number in range(section_count)
    ]
    found: dict[tuple[int, int], Variable] = {}
    for section in sections:
        _, kind, _, _, offset, size, link, _, _, _ = section
        if kind not in _SYMBOL_TABLES or link >= len(sections) or offset + size > len(data):
            continue
        names = sections[link][4]
        for at in range(offset, offset + size - _SYMBOL.size + 1, _SYMBOL.size):
            name, info, _, index, value, length = _SYMBOL.unpack_from(data, at)
            if info & 0xF not in (_OBJECT, _COMMON) or length < least or index == 0:
                continue
            end = data.find(b"\0", names + name)
            text = data[names + name : end].decode(errors="replace") if end > 0 else ""
            if text:
                found.setdefault((value, length), Variable(text, value, length))
    return segments, sorted(found.values(), key=lambda one: one.address)
