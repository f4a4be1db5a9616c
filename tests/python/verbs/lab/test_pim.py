"""PIM from Python: the allocator compared with a plain map, replays, and the subcommand's output."""

import base64
import json
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import charts_of
from terrace import _core

ROOT = Path(__file__).resolve().parents[4]
HEADER = "terrace-pim-trace 1 devices=2 banks=2 subarrays=4 rows=64 columns=64"


@pytest.fixture
def geometry():
    """Two devices with two banks of four subarrays."""
    return _core.PimGeometry(rows=64, columns=64, subarrays=4, banks=2, devices=2)


def block_in(cells, block):
    """Returns the part of a map that a block covers."""
    device, subarray, row, rows, subarrays = block
    return cells[device, row : row + rows, subarray : subarray + subarrays]


def history(geometry, steps, seed):
    """Returns a trace with an allocator's outcomes, and the final map: 1 horizontal, 2 vertical."""
    rng = random.Random(seed)
    allocator = _core.PimAllocator(geometry)
    cells = np.zeros((geometry.devices, geometry.rows, geometry.width), dtype=np.uint8)
    lines, live, most, failed = [HEADER], {}, 0, 0
    for number in range(1, steps + 1):
        if live and rng.random() < 0.4:
            gone = rng.choice(sorted(live))
            handle = live.pop(gone)
            block_in(cells, allocator.block(handle))[:] = 0
            assert allocator.release(handle) == "done"
            assert allocator.release(handle) == "already"
            lines.append(f"f {gone}")
            continue
        rows, subarrays, dim = rng.randint(1, 24), rng.randint(1, 5), rng.choice("hv")
        handle = allocator.allocate(rows, subarrays, dim=dim)
        outcome = "-"
        if handle:
            block = allocator.block(handle)
            assert block[3:] == (rows, subarrays)
            under = block_in(cells, block)
            assert under.shape == (rows, subarrays)
            assert not under.any(), "two blocks overlap"
            under[:] = 1 if dim == "h" else 2
            live[number] = handle
            outcome = " ".join(map(str, block[:3]))
        failed += not handle
        lines.append(f"a {number} {rows} {subarrays} {dim} = {outcome}")
        most = max(most, int((cells > 0).sum()))
        assert (allocator.snapshot() == (cells == 0)).all()
        assert allocator.free_units == int((cells == 0).sum())
    return "\n".join(lines) + "\n", cells, most, failed


def largest_rectangle(free):
    """Returns the largest rectangle of a boolean map [device, row, subarray], by exhaustive search."""
    best = 0
    for board in free:
        rows, width = board.shape
        for top in range(rows):
            together = np.ones(width, dtype=bool)
            for bottom in range(top, rows):
                together &= board[bottom]
                run = longest_run(together)
                best = max(best, run * (bottom - top + 1))
    return best


def longest_run(flags):
    """Returns the longest run of True."""
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


def test_geometry_equals_machine(geometry):
    imi = _core.PimGeometry.of_machine(_core.Machine.read("imi-ddr4"))
    assert str(imi) == "1 device x 8 banks x 16 subarrays x 1024 rows x 65536 columns"
    assert imi.capacity == 1 << 30
    assert imi == _core.PimGeometry(1024, 65536, 16, 8)
    assert imi.shape_of(1 << 20, "h") == (1, 128)  # 1 MiB is a row of all subarrays
    assert imi.shape_of(64 << 20, "v") == (1024, 8)  # 64 MiB are all rows of eight
    assert geometry.units * geometry.row_bytes == geometry.capacity
    with pytest.raises(_core.InvalidError, match="no PIM place"):
        _core.PimGeometry.of_machine(_core.Machine.read("unimem-bw2"))
    with pytest.raises(_core.InvalidError, match="whole bytes"):
        _core.PimGeometry(1024, 12, 16, 8)


def test_ordinary_data_is_not_placed_in_the_device():
    machine = _core.Machine.read("imi-ddr4")
    device = machine.places.index("imi")
    assert machine.home(0) != device
    assert machine.fastest_first(0)[-1] == device
    assert machine.budget("1GiB")[device] == 0
    assert machine.budget("pim=256MiB")[device] == 256 << 20


def test_arguments_are_checked(geometry):
    allocator = _core.PimAllocator(geometry)
    with pytest.raises(_core.InvalidError, match="dim 'x': there are h, v"):
        allocator.allocate(1, 1, dim="x")
    with pytest.raises(_core.InvalidError, match="within 'row': there are subarray, bank, device"):
        allocator.allocate(1, 1, within="row")
    assert allocator.release(1 << 60) == "foreign"
    first = allocator.allocate(3, 1, "v")
    second = allocator.allocate(3, 1, "v", beside=first, share="subarray", align=(8, 1))
    assert allocator.block(second)[1:3] == (allocator.block(first)[1], 8)


def test_replay_equals_recording(geometry):
    text, cells, most, failed = history(geometry, 1200, seed=1)
    trace = _core.PimTrace.parse(text)
    assert len(trace) == 1200
    whole = _core.replay_pim(trace, samples=50)
    assert (whole.differ, whole.failures, whole.operations) == (0, failed, 1200)
    assert failed > 0
    assert whole.used == (int((cells == 1).sum()), int((cells == 2).sum()))
    assert whole.peak == most
    assert [done for done, *_ in whole.samples] == [0, *range(24, 1201, 24)]
    shown = whole.occupancy()
    assert ((shown == 0) == (cells == 0)).all()
    assert (((shown >= 1) & (shown <= 3)) == (cells == 1)).all()
    fullest = _core.replay_pim(trace, until=whole.peak_operations)
    assert sum(fullest.used) == most


def test_fragmentation_equals_exhaustive_search(geometry):
    for seed in range(5):
        text, cells, *_ = history(geometry, 150, seed=seed)
        found = _core.replay_pim(_core.PimTrace.parse(text)).fragmentation
        free = cells == 0
        most = geometry.rows * geometry.width
        assert found.free == free.sum()
        assert found.rectangle.units == largest_rectangle(free)
        assert found.horizontal.units == max(longest_run(row) for board in free for row in board)
        assert found.vertical.units == max(longest_run(column) for board in free for column in board.T)
        expected = 1 - found.rectangle.units / min(found.free, most)
        assert found.rectangle.fragmentation == pytest.approx(expected)


def drawn_map(page):
    """Returns the cells of the final map, by device, row and subarray."""
    boards = charts_of(page)["end"]["data"]
    return np.concatenate([np.frombuffer(base64.b64decode(board["z"]["bdata"]), np.uint8) for board in boards])


def test_subcommand_writes_maps_and_a_page(terrace, tmp_path, geometry):
    text, cells, most, failed = history(geometry, 400, seed=3)
    trace = tmp_path / "app.pim"
    trace.write_text(text)
    done = terrace("lab", "pim", trace, "-o", tmp_path / "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["schema"] == 1
    assert said["no_room"] == failed
    assert said["fullest"]["horizontal"] + said["fullest"]["vertical"] == most * geometry.row_bytes
    assert said["end"]["vertical"] == int((cells == 2).sum()) * geometry.row_bytes
    page = (tmp_path / "out" / "replay.html").read_text()
    assert "http" not in page
    assert f"{failed:,} of {said['allocations']:,} requests failed" in page
    assert list(charts_of(page)) == ["occupancy", "fragmentation", "fullest", "end"]
    assert ((drawn_map(page).reshape(cells.shape) + 2) // 3 == cells).all()  # free, or one of three shades
    shown = terrace("lab", "pim", trace, "-o", tmp_path / "out").stdout
    assert "all outcomes are as recorded" in shown
    assert "2 devices x 2 banks x 4 subarrays x 64 rows x 64 columns" in shown


def test_map_distinguishes_neighbours(terrace, tmp_path):
    """A quarter of the device is horizontal, half is vertical: two blocks, of two shades."""
    trace = tmp_path / "app.pim"
    trace.write_text(
        "terrace-pim-trace 1 banks=2 subarrays=8 rows=256 columns=64\na 1 64 16 h\na 2 192 4 v\na 3 128 10 v\n"
    )
    assert terrace("lab", "pim", trace, "-o", tmp_path).returncode == 0
    shades, counts = np.unique(drawn_map((tmp_path / "replay.html").read_text()), return_counts=True)
    assert list(np.unique((shades + 2) // 3)) == [0, 1, 2]
    assert sorted(counts[shades > 3]) == [192 * 4, 128 * 10]
    assert counts[(shades >= 1) & (shades <= 3)].sum() == 64 * 16


def test_another_device_has_other_outcomes(terrace, tmp_path):
    trace = tmp_path / "app.pim"
    trace.write_text(f"{HEADER}\na 1 64 8 h = 0 0 0\na 2 64 8 h = 1 0 0\na 3 1 1 = 0 4 4\nf 1\n")
    done = terrace("lab", "pim", trace, "-o", tmp_path / "out")
    assert done.returncode == 0
    assert done.stderr == (
        "terrace: app.pim, line 4: block 3: no room in the replay, device 0, subarray 4, row 4 in the trace; "
        "to compare, replay a trace of one thread in its own device\n"
    )
    assert "1 of 3 outcomes are not as recorded" in done.stdout
    assert "Differences from the recording" in (tmp_path / "out" / "replay.html").read_text()
    done = terrace("lab", "pim", trace, "-m", "imi-ddr4", "-o", tmp_path / "imi", "--json")
    said = json.loads(done.stdout)
    assert said["no_room"] == 0
    assert said["capacity"] == 1 << 30


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["missing.pim"], "missing.pim: trace file not found; name one that BMEM_TRACE=FILE wrote"),
        (
            ["bad.pim"],
            "bad.pim:3: block 7 has not been allocated; that line must come first",
        ),
        (["empty.pim"], "empty.pim: the trace contains no operation; record a program that allocates PIM memory"),
        (
            ["good.pim", "--machine", "unimem-bw2"],
            "machine 'unimem-bw2' has no PIM place; add [place.geometry] to a [[place]] in its file",
        ),
        (["good.pim", "-m", "imi-ddr4", "--place", "ddr"],
         "machine 'imi-ddr4' has no PIM place 'ddr'; name one of: imi"),
        (["good.pim", "--place", "imi"], "--place imi: give the --machine that has it as well"),
        (["good.pim", "-o", "bad.pim"], "--output bad.pim: File exists; name a writable folder"),
    ],
)  # fmt: skip
def test_wrong_calls_get_one_line(terrace, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.pim").write_text(f"{HEADER}\na 1 1 1\n")
    (tmp_path / "bad.pim").write_text(f"{HEADER}\na 1 1 1\nf 7\n")
    (tmp_path / "empty.pim").write_text(f"{HEADER}\n")
    done = terrace("lab", "pim", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"terrace: {complaint}\n"


def test_message_is_text_for_any_file(terrace, tmp_path):
    (tmp_path / "strange.pim").write_bytes(f"{HEADER}\na ".encode() + b"\xff 2 3\n")
    done = terrace("lab", "pim", tmp_path / "strange.pim")
    assert done.returncode == 2
    assert r"'\xff' is no number" in done.stderr


def test_example_of_the_manual_works():
    text = (ROOT / "docs" / "reference" / "pim-traces.md").read_text()
    example = text.split("```text\n")[1].split("```")[0]
    trace = _core.PimTrace.parse(example)
    assert len(trace) == 7
    replayed = _core.replay_pim(trace)
    assert (replayed.compared, replayed.differ, replayed.failures) == (2, 0, 1)
    assert _core.PimTrace.parse(str(trace)).geometry == trace.geometry
