"""perf.data: files written by perf, files built from the published format, and damaged ones."""

import shutil
import struct
import subprocess

import pytest
from damage import damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from terrace.errors import WrongCallError
from terrace.imports import perf_data, perf_mem
from terrace.imports.address_ranges import Ranges
from terrace.imports.data_symbols import ElfData
from terrace.imports.measured import DamagedError
from terrace.imports.perf_data import (
    ADDR,
    BRANCH_STACK,
    CALLCHAIN,
    CPU,
    DATA_SRC,
    ID,
    IDENTIFIER,
    IP,
    PERIOD,
    RAW,
    READ,
    REGS_USER,
    STACK_USER,
    STREAM_ID,
    TID,
    TIME,
    WEIGHT,
    WEIGHT_STRUCT,
)

ALWAYS = TID | TIME | ADDR
OTHERS = [IP, ID, CPU, PERIOD, STREAM_ID, READ, CALLCHAIN, RAW, BRANCH_STACK, REGS_USER, STACK_USER, DATA_SRC]
SAMPLE_ID_ALL = 1 << 18
LOAD, STORE = 2, 4
RAM_HIT, L1_HIT, L3_MISS = (2 | 0x80) << 5, (2 | 8) << 5, (4 | 0x40) << 5
MEMORY = perf_mem.Memory(64, 100e-9, 2e9)


class File:
    """Builds perf.data by the kernel's perf_event.h and perf's perf.data-file-format.txt."""

    def __init__(self, *kinds: int, period: int = 1000, read_format: int = 0) -> None:
        self.kinds, self.period, self.read_format = kinds, period, read_format
        self.records = b""

    def record(self, kind: int, body: bytes, misc: int = 0) -> "File":
        body += b"\0" * (-len(body) % 8)
        self.records += struct.pack("<IHH", kind, misc, len(body) + 8) + body
        return self

    def sample(self, event=0, process=1, time=0, address=0, period=7, weight=0, source=0, extra=3) -> "File":
        kind = self.kinds[event]
        body = b""
        number = struct.pack("<Q", 100 + event)
        fixed = [
            (IDENTIFIER, number),
            (IP, struct.pack("<Q", 0xAAAA)),
            (TID, struct.pack("<II", process, process)),
            (TIME, struct.pack("<Q", time)),
            (ADDR, struct.pack("<Q", address)),
            (ID, number),
            (STREAM_ID, struct.pack("<Q", 0xBBBB)),
            (CPU, struct.pack("<II", 3, 0)),
            (PERIOD, struct.pack("<Q", period)),
        ]
        for bit, field in fixed:
            body += field if kind & bit else b""
        if kind & READ:
            totals = [1] * (self.read_format & 3).bit_count()
            each = [1] * (1 + (self.read_format >> 2 & 1) + (self.read_format >> 4 & 1))
            values = [extra, *totals, *each * extra] if self.read_format & 8 else [each[0], *totals, *each[1:]]
            body += struct.pack(f"<{len(values)}Q", *values)
        if kind & CALLCHAIN:
            body += struct.pack(f"<Q{extra}Q", extra, *range(extra))
        if kind & RAW:
            body += struct.pack("<I", 4 + 8 * extra) + b"r" * (4 + 8 * extra)
        if kind & BRANCH_STACK:
            body += struct.pack("<Q", extra) + b"b" * 24 * extra
        if kind & REGS_USER:
            body += struct.pack("<Q5Q", 2, *range(5)) if extra else struct.pack("<Q", 0)
        if kind & STACK_USER:
            body += struct.pack("<Q", 16 * extra) + b"s" * 16 * extra + (struct.pack("<Q", 8) if extra else b"")
        if kind & (WEIGHT | WEIGHT_STRUCT):
            body += struct.pack("<Q", weight | (77 << 32 if kind & WEIGHT_STRUCT else 0))
        if kind & DATA_SRC:
            body += struct.pack("<Q", source)
        return self.record(9, body)

    def _id(self, process: int, time: int) -> bytes:
        parts = [
            (TID, struct.pack("<II", process, process)),
            (TIME, struct.pack("<Q", time)),
            (ID, struct.pack("<Q", 100)),
            (STREAM_ID, struct.pack("<Q", 0)),
            (CPU, struct.pack("<II", 3, 0)),
            (IDENTIFIER, struct.pack("<Q", 100)),
        ]
        return b"".join(field for bit, field in parts if self.kinds[0] & bit)

    @staticmethod
    def _text(text: str) -> bytes:
        raw = text.encode() + b"\0"
        return raw + b"\0" * (-len(raw) % 8)

    def mmap2(self, low, length, name, process=1, time=0, offset=0) -> "File":
        body = struct.pack("<IIQQQ", process, process, low, length, offset) + b"i" * 24 + struct.pack("<II", 3, 2)
        return self.record(10, body + self._text(name) + self._id(process, time))

    def mmap(self, low, length, name, process=1, time=0, offset=0) -> "File":
        body = struct.pack("<IIQQQ", process, process, low, length, offset)
        return self.record(1, body + self._text(name) + self._id(process, time))

    def comm(self, name, process=1, time=0, executes=True) -> "File":
        body = struct.pack("<II", process, process) + self._text(name) + self._id(process, time)
        return self.record(3, body, 1 << 13 if executes else 0)

    def fork(self, process, parent, time=0) -> "File":
        body = struct.pack("<IIIIQ", process, parent, process, parent, time)
        return self.record(7, body + self._id(process, time))

    def lost(self, count) -> "File":
        return self.record(2, struct.pack("<QQ", 100, count) + self._id(1, 0))

    def bytes(self, magic=b"PERFILE2", size=104, compressed=False) -> bytes:
        each = 128 + 16
        ids_at = 104 + each * len(self.kinds)
        attributes, ids = b"", b""
        for number, kind in enumerate(self.kinds):
            attribute = struct.pack(
                "<IIQQQQQ", 4, 128, 0x1CD, self.period, kind, self.read_format, SAMPLE_ID_ALL | 1 << 8
            )
            attribute = attribute.ljust(72, b"\0") + struct.pack("<QQ", 0, 0b11111)
            attributes += attribute.ljust(128, b"\0") + struct.pack("<QQ", ids_at + len(ids), 8)
            ids += struct.pack("<Q", 100 + number)
        data_at = ids_at + len(ids)
        head = struct.pack(
            "<8sQQQQQQQQ", magic, size, each, 104, len(attributes), data_at, len(self.records), 0, 0
        ).ljust(104, b"\0")
        return head + attributes + ids + self.records


@settings(max_examples=200, deadline=None)
@given(
    st.sets(st.sampled_from(OTHERS)),
    st.sampled_from([0, WEIGHT, WEIGHT_STRUCT]),
    st.booleans(),
    st.sampled_from([0, 1, 3, 4, 7, 8, 12, 15, 16, 31]),
    st.lists(
        st.tuples(
            st.integers(1, 1 << 20),
            st.integers(0, 1 << 60),
            st.integers(0, (1 << 64) - 1),
            st.integers(1, 1 << 40),
            st.integers(0, (1 << 32) - 1),
            st.integers(0, (1 << 64) - 1),
            st.integers(0, 6),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_parse_every_sample_layout(others, weight, with_two, read_format, samples):
    kind = ALWAYS | weight | (IDENTIFIER if with_two else 0)
    for bit in others:
        kind |= bit
    # The second event has no weight and no source: whose sample it is decides.
    kinds = [kind, ALWAYS | IDENTIFIER | (kind & (IP | ID))] if with_two else [kind]
    file = File(*kinds, read_format=read_format)
    for number, (process, time, address, period, cycles, source, extra) in enumerate(samples):
        file.sample(number % len(kinds), process, time, address, period, cycles, source, extra)
    parsed = perf_data.parse(file.bytes()).samples
    assert len(parsed) == len(samples)
    for number, (one, given_) in enumerate(zip(parsed, samples, strict=True)):
        process, time, address, period, cycles, source, _ = given_
        has = kinds[number % len(kinds)]
        assert (one.process, one.time, one.address) == (process, time, address)
        assert one.period == (period if has & PERIOD else 1000)
        assert one.weight == (cycles if has & (WEIGHT | WEIGHT_STRUCT) else 0)
        assert one.source == (source if has & DATA_SRC else 0)


def ordinary() -> File:
    file = File(ALWAYS | IDENTIFIER | IP | CALLCHAIN | WEIGHT_STRUCT | DATA_SRC, ALWAYS | IDENTIFIER | DATA_SRC)
    file.comm("app", time=5).mmap2(0x10000, 0x8000, "//anon", time=10)
    file.mmap(0x40000, 0x2000, "[heap]", time=12).fork(2, 1, 13).lost(3)
    for n in range(8):
        file.sample(0, 1, 100 + n * 1000, 0x10000 + n * 0x1000, weight=200, source=LOAD | RAM_HIT)
        file.sample(1, 1, 100 + n * 1000, 0x40008, source=STORE | RAM_HIT)
        file.sample(0, 1, 100 + n * 1000, 0x10000, weight=4, source=LOAD | L1_HIT)
    return file


def test_measured_counts_memory_by_object_and_time():
    found = perf_mem.measured(perf_data.parse(ordinary().bytes()), MEMORY, interval=3.5e-6)
    assert [one.name for one in found.objects] == ["mapping", "(heap)"]
    assert [one.size for one in found.objects] == [0x8000, 0x2000]
    assert found.program == "app"
    assert len(found.phases) == 2
    assert [sum(cell.samples for cell in phase.cells.values()) for phase in found.phases] == [8, 8]
    assert [phase.samples for phase in found.phases] == [12, 12]
    cells = [cell for phase in found.phases for (which, _), cell in phase.cells.items() if which == 0]
    assert sum(cell.reads for cell in cells) == 8 * 1000
    assert sum(cell.writes for cell in cells) == 0
    # More latency than time: it overlapped.
    for phase in found.phases:
        exposed = sum(cell.exposure for cell in phase.cells.values()) * MEMORY.latency
        assert exposed == pytest.approx(0.95 * 3.5e-6)
        assert phase.core + exposed == pytest.approx(3.5e-6)
    assert any("16 of 24" in note or "24 of 24" in note for note in found.notes)
    assert any("lost 3" in note for note in found.notes)


def test_measured_keeps_sampled_latencies():
    file = File(ALWAYS | WEIGHT | DATA_SRC, period=1).mmap2(0x10000, 0x1000, "//anon")
    file.sample(0, 1, 0, 0x10000, weight=300, source=LOAD | RAM_HIT)
    file.sample(0, 1, 1_000_000, 0x10008, weight=100, source=LOAD | L3_MISS)
    phase = perf_mem.measured(perf_data.parse(file.bytes()), MEMORY, interval=1).phases[0]
    # 400 cycles of 0.5 ns are two latencies of 100 ns.
    assert sum(cell.exposure for cell in phase.cells.values()) == pytest.approx(2)


def test_measured_forked_process_keeps_mappings_until_exec():
    file = File(ALWAYS).mmap2(0x10000, 0x1000, "//anon", process=1, time=1)
    file.fork(2, 1, 2).sample(0, 2, 3, 0x10010).comm("other", 2, 4).sample(0, 2, 5, 0x10010)
    found = perf_mem.measured(perf_data.parse(file.bytes()), MEMORY, process=2, interval=1)
    assert sum(cell.samples for phase in found.phases for cell in phase.cells.values()) == 1
    assert found.phases[0].unowned_lines == 1000
    # Later mappings of the parent is its own.
    file = File(ALWAYS).fork(2, 1, 2).mmap2(0x10000, 0x1000, "//anon", process=1, time=3).sample(0, 2, 5, 0x10010)
    later = perf_mem.measured(perf_data.parse(file.bytes()), MEMORY, interval=1)
    assert (later.objects, later.phases[0].unowned_lines) == ([], 1000)
    with pytest.raises(WrongCallError, match="process 9"):
        perf_mem.measured(perf_data.parse(file.bytes()), MEMORY, process=9)


def test_import_file_without_known_objects_fails(terrace, tmp_path):
    (tmp_path / "x.perf").write_bytes(File(ALWAYS).sample(0, 2, 3, 0x10010).bytes())
    done = terrace("import", tmp_path / "x.perf", "-o", tmp_path / "x.terrace", "--machine", "knl-7210-flat")
    assert done.returncode == 1
    assert "a mapping that perf recorded" in done.stderr
    assert not (tmp_path / "x.terrace").exists()


def test_measured_samples_without_addresses_refused():
    with pytest.raises(WrongCallError, match="no sample of the perf file has an address"):
        perf_mem.measured(perf_data.parse(File(ALWAYS).sample().bytes()), MEMORY)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "not a perf.data file"),
        (b"garbage " * 20, "not a perf.data file"),
        (File(ALWAYS).bytes(b"2ELIFREP"), "byte order"),
        (File(ALWAYS).bytes(size=16), "pipe"),
        (File(ALWAYS).bytes(), "no data"),
        (File(ALWAYS).record(81, b"z" * 8).bytes(), "compressed"),
        (ordinary().bytes()[:-4], "beyond the end"),
        (File(ALWAYS).record(9, b"short").bytes(), "truncated"),
    ],
)
def test_parse_unreadable_file_refused(data, words):
    with pytest.raises(DamagedError, match=words) as refused:
        perf_data.parse(data, "x.perf")
    assert "\n" not in str(refused.value)


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_parse_damaged_file_refused(data):
    text = damaged(data, ordinary().bytes(), 6)
    try:
        recorded = perf_data.parse(text)
        perf_mem.measured(recorded, MEMORY, read_elf=lambda name: ElfData([], []))
    except (DamagedError, WrongCallError) as error:
        assert "\n" not in str(error)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=20))
def test_ranges_equal_map_of_each_byte(steps):
    ranges, by_byte = Ranges(), {}
    for number, (low, length) in enumerate(steps):
        ranges.add(low, low + length, number)
        by_byte.update(dict.fromkeys(range(low, low + length), number))
    assert [ranges.find(at) for at in range(60)] == [by_byte.get(at) for at in range(60)]


# --- as perf writes it -------------------------------------------------------------------------------------------

PAGES = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#define PAGE 4096
volatile char table[300 * PAGE];
int main(void) {
  volatile char* mapped = mmap(0, 700 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise((void*)mapped, 700 * PAGE, MADV_NOHUGEPAGE);
  for (int i = 0; i < 600; ++i) mapped[i * PAGE + 100] = 1;
  usleep(20000);
  for (int i = 0; i < 200; ++i) table[i * PAGE + 200] = 1;
  return 0;
}
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """Records page faults: one sample with its address for each page that the program touches."""
    folder = tmp_path_factory.mktemp("perf")
    (folder / "pages.c").write_text(PAGES)
    subprocess.run(["gcc", "-O1", "pages.c", "-o", "pages"], cwd=folder, check=True)
    command = ["perf", "record", "-q", "-d", "-e", "page-faults:u", "-c", "1", "-o", "pages.perf", "./pages"]
    if shutil.which("perf") is None or subprocess.run(command, cwd=folder, capture_output=True).returncode != 0:
        pytest.skip("perf is not there, or may not record here")
    return folder / "pages.perf"


def test_parse_equals_perf_script(faults):
    command = ["perf", "script", "-i", faults, "-F", "pid,addr"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    perfs = [(int(words[0]), int(words[1], 16)) for words in map(str.split, lines) if len(words) == 2]
    # perf script sorts by time. The file is ordered so for each core only, and the program may change cores.
    samples = sorted(perf_data.read(faults).samples, key=lambda one: one.time)
    ours = [(one.process, one.address) for one in samples]
    assert ours == perfs
    assert len(ours) > 800


def test_profile_contains_touched_pages(faults, terrace, tmp_path):
    found = perf_mem.measured(perf_data.read(faults), MEMORY)
    touched = {}
    for phase in found.phases:
        for (which, _), cell in phase.cells.items():
            name = found.objects[which].name
            touched[name] = touched.get(name, 0) + cell.samples
    sizes = {one.name: one.size for one in found.objects}
    assert sizes["table"] == 300 * 4096
    assert 199 <= touched["table"] <= 201  # its first page may be another variable's, too
    # The kernel makes one mapping of it and what it lies next to.
    mapped = next(one.name for one in found.objects if one.kind == "mapping" and one.size >= 700 * 4096)
    assert 600 <= touched[mapped] <= 610
    profile = tmp_path / "pages.terrace"
    assert terrace("import", faults, "-o", profile, "--machine", "knl-7210-flat").returncode == 0
    assert "table" in terrace("show", profile).stdout
    assert terrace("bounds", profile).returncode == 0
    assert terrace("plan", profile, "--budget", "hbm=1MiB").returncode == 0
