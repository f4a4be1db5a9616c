"""The store as Python reads it, compared with independent SQL."""

import sqlite3

import numpy as np
import pytest
from terrace.errors import TerraceError, WrongCallError
from terrace.store.reader import Store


def sql(path, query):
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


def test_every_line_belongs_to_an_object_and_a_phase(store_path):
    store = Store(store_path)
    for exact in (False, True):
        profile = store.profile(store.run(4001), exact)
        ((reads, writes, exposure, samples),) = sql(
            store_path,
            "SELECT sum(read_lines), sum(write_lines), sum(exposure), sum(samples) FROM cell JOIN iteration "
            f"ON iteration.id = cell.iteration WHERE run = 1 AND exact = {int(exact)}",
        )
        assert profile.reads.sum() == pytest.approx(reads)
        assert profile.writes.sum() == pytest.approx(writes)
        assert profile.exposure.sum() == pytest.approx(exposure)
        assert profile.samples.sum() == pytest.approx(samples)


def test_cells_belong_to_the_right_object(store_path):
    store = Store(store_path)
    profile = store.profile(store.run(4001), exact=True)
    names = [item.name for item in profile.objects]
    # `buffers` is read three times in "exchange" and nowhere else, 2 MiB in lines of 64 bytes.
    row = profile.reads[names.index("buffers")]
    np.testing.assert_allclose(row, [0, 0, 0, 3 * (2 << 20) / 64])


def test_default_process_terminated_normally(store_path):
    store = Store(store_path)
    assert [run.process for run in store.runs()] == [4001, 4002]
    assert store.run().process == 4001
    assert not store.run(4002).whole
    assert store.counters(store.run(4002)) is None
    assert any("did not end" in note.text for note in store.notes(store.run(4002)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE run SET planner = 'plan'", "it followed a given plan"),
        ("UPDATE run SET planner = 'slow-only'", "the planner slow-only"),
        ("DELETE FROM loop", "no main loop was seen"),
    ],
)
def test_missing_profile_has_a_reason(store_path, tmp_path, change, says):
    path = tmp_path / "other.terrace"
    path.write_bytes(store_path.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM iteration")
        connection.execute(change)
    store = Store(path)
    with pytest.raises(TerraceError, match=says):
        store.profile(store.run(4001))


def test_times_add_up(store_path):
    store = Store(store_path)
    run = store.run(4001)
    loop = store.loop(run)
    spent = sum(i.ended - i.begun for i in store.phase_instances(run))
    assert spent == pytest.approx(loop.ended - loop.begun)


def test_plan_parts_and_moves_equal_the_journal(store_path):
    store = Store(store_path)
    run = store.run(4001)
    (plan,) = store.plans(run)
    assert [plan.objects[part.object].name for part in plan.parts] == ["u", "index", "lists"]
    assert [move.target for move in plan.moves] == ["dram", "nvm"]
    assert not plan.moves[1].awaited
    moves = store.moves(run)
    assert all(move.asked <= move.begun < move.done for move in moves)
    assert store.plans(store.run(4002)) == []


def test_machine_is_complete(store_path):
    store = Store(store_path)
    machine = store.machine(store.run())
    assert [place.name for place in machine.places] == ["dram", "nvm"]
    assert machine.path(0, 1).latency == 172e-9
    assert machine.copies[(0, 1)] == 8e9
    assert {node.name for node in machine.nodes if node.parent is None} == {"board"}


def test_other_file_is_refused(tmp_path, store_path):
    with pytest.raises(WrongCallError, match="no such file"):
        Store(tmp_path / "none.terrace")
    text = tmp_path / "text.terrace"
    text.write_text("x" * 5000)
    with pytest.raises(WrongCallError, match="not a profile store"):
        Store(text)
    newer = tmp_path / "newer.terrace"
    newer.write_bytes(store_path.read_bytes())
    sql(newer, "PRAGMA user_version = 99")
    with pytest.raises(WrongCallError, match="version 99"):
        Store(newer)


def test_missing_data_is_reported(store_path):
    store = Store(store_path)
    with pytest.raises(WrongCallError, match="4001, 4002"):
        store.run(1)
    with pytest.raises(WrongCallError):
        store.run(0)
    assert issubclass(WrongCallError, TerraceError)


def test_unobserved_iterations_count_as_the_last_observed(store_path, tmp_path):
    path = tmp_path / "sampled.terrace"
    path.write_bytes(store_path.read_bytes())
    run = Store(path).run(4001)
    with sqlite3.connect(path) as connection:
        # A second iteration in the profile, with other times and reads, and four unobserved ones after it.
        connection.execute("UPDATE loop SET observed = 2")
        connection.execute("UPDATE phase_instance SET observed = 0 WHERE iteration > 1")
        connection.execute(
            "INSERT INTO iteration SELECT 99, run, loop, 1, 0, 0 FROM iteration WHERE run = 1 AND NOT exact"
        )
        for table in ("phase", "cell"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][1:]
            connection.execute(
                f"INSERT INTO {table} SELECT 99, {', '.join(columns)} FROM {table} JOIN iteration "
                "ON id = iteration WHERE run = 1 AND NOT exact AND number = 0"
            )
        connection.execute("UPDATE phase SET time = 11 * time WHERE iteration = 99")
        connection.execute("UPDATE cell SET read_lines = 3 * read_lines WHERE iteration = 99")
    before, after = Store(store_path).profile(run), Store(path).profile(run)
    assert after.iterations == 2
    for one, other in zip(before.phases, after.phases, strict=True):
        assert other.time == pytest.approx((1 + 5 * 11) / 6 * one.time)
        assert other.core == pytest.approx(one.core)
    assert after.reads.sum() == pytest.approx((1 + 5 * 3) / 6 * before.reads.sum())
    assert after.writes.sum() == pytest.approx(before.writes.sum())


def test_unobserved_iterations_reported_by_all_subcommands(terrace, store_path, tmp_path):
    path = tmp_path / "sampled.terrace"
    path.write_bytes(store_path.read_bytes())
    page = tmp_path / "page.html"

    def said() -> list[str]:
        calls = [
            ("show", path),
            ("plan", path, "--confidence", "0"),
            ("bounds", path),
            ("report", path, "-o", page),
        ]
        done = [terrace(*words) for words in calls]
        assert all(one.returncode == 0 for one in done), done
        return [*(" ".join(one.stdout.split()) for one in done[:3]), page.read_text()]

    sentence = "Observed 2 of 6 iterations; the others count as the last one observed."
    assert not any(sentence in text for text in said())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE loop SET observed = 2")
    assert all(sentence in text for text in said())


def test_moved_equals_sum_of_moves(store_path):
    store = Store(store_path)
    run = store.run(4001)
    each = [move for move in store.moves(run) if not move.refused]
    assert each
    for pair in store.moved(run):
        of = [move for move in each if (move.source, move.target) == (pair.source, pair.target)]
        assert (pair.moves, pair.chunks, pair.size) == (
            len(of),
            sum(move.chunks for move in of),
            sum(move.size for move in of),
        )
    assert sum(pair.moves for pair in store.moved(run)) == len(each)
