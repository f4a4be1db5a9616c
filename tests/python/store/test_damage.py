"""Damaged profiles: every subcommand ends with one line or works, and never with a traceback."""

import contextlib
import io
import os
import random
import sqlite3

import pytest
from terrace import cli
from terrace.errors import TerraceError
from terrace.store.opened import opened

SUBCOMMANDS = {
    "show": (),
    "plan": ("--fast", "8MiB", "-o", "page.toml"),
    "bounds": (),
    "report": ("-o", "page.html"),
    "export": ("-o", "page.json"),
}


def changed(store_path, tmp_path, *statements):
    path = tmp_path / "changed.terrace"
    path.write_bytes(store_path.read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize("subcommand", sorted(SUBCOMMANDS))
def test_subcommand_name_that_is_not_utf8_says_where(terrace, store_path, tmp_path, subcommand, monkeypatch):
    path = changed(store_path, tmp_path, "UPDATE object SET name = CAST(x'6199' AS TEXT)")
    monkeypatch.chdir(tmp_path)
    done = terrace(subcommand, path, *SUBCOMMANDS[subcommand])
    assert (done.returncode, done.stdout) == (1, "")
    says = "record the program again (object.name contains text that is not UTF-8: 'a"
    assert done.stderr.startswith(f"terrace: {path} is damaged: {says}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("subcommand", sorted(SUBCOMMANDS))
@pytest.mark.parametrize("statement", ["UPDATE object SET size = 'many'", "DELETE FROM run", "DROP TABLE object"])
def test_subcommand_refuses_in_one_line_that_names_the_file(
    terrace, store_path, tmp_path, subcommand, statement, monkeypatch
):
    path = changed(store_path, tmp_path, "PRAGMA foreign_keys = OFF", statement)
    monkeypatch.chdir(tmp_path)
    done = terrace(subcommand, path, *SUBCOMMANDS[subcommand])
    assert done.returncode != 0
    assert path.name in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE cell SET samples = 'many'", "cell.samples is not a number"),
        ("UPDATE object SET chunks = 1.5 WHERE id = 0", "object.chunks is not an integer"),
        ("UPDATE phase SET time = -1.0", "phase.time is negative: -1"),
        ("UPDATE path SET latency = 9e999", "path.latency is inf"),
        ("UPDATE object SET chunks = 1 << 30 WHERE id = 0", "object.chunks contradicts other tables"),
        ("UPDATE chunk_place SET chunks = 1 << 30", "chunk_place.chunks contradicts other tables"),
        ("UPDATE cell SET phase = phase + 7", "cell.phase contradicts other tables"),
        ("UPDATE phase SET phase = phase + 100 WHERE phase = 3", "contradicts other tables"),
        ("UPDATE run SET initiator = 77", "run.initiator contradicts other tables"),
        ("UPDATE note SET text = x'00ff'", "note.text is not text"),
        ("UPDATE plan_move SET object = 1 << 40", "plan_move.object contradicts other tables"),
        ("UPDATE plan_part SET object = 99", "plan_part.object contradicts other tables"),
        ("DELETE FROM plan_object WHERE object = 0", "plan_object.object contradicts other tables"),
        ("UPDATE place SET id = id + 40 WHERE id = 0", "place.id contradicts other tables"),
        ("DELETE FROM domain", "place.domain contradicts other tables"),
        ("UPDATE path SET initiator = 9 WHERE initiator = 0", "path.initiator contradicts other tables"),
        ("DELETE FROM run", "run contains no process"),
        ("UPDATE object SET run = run + 50", "object refers to processes that are missing in run"),
    ],
)
def test_opened_impossible_value_names_its_column(store_path, tmp_path, statement, says):
    with pytest.raises(TerraceError, match=says):
        opened(changed(store_path, tmp_path, "PRAGMA foreign_keys = OFF", statement))


def test_opened_shipped_store_is_whole(store_path):
    opened(store_path).close()


def test_opened_iteration_that_ends_early_is_whole(store_path, tmp_path):
    """The last iteration of a detected loop may have fewer phases than the others."""
    last = "iteration = (SELECT max(iteration) FROM phase) AND phase > 0"
    path = changed(store_path, tmp_path, f"DELETE FROM cell WHERE {last}", f"DELETE FROM phase WHERE {last}")
    opened(path).close()


def test_opened_iterations_of_different_phases_are_no_damage(store_path, tmp_path):
    """A loop is cut into as many phases as each iteration needs."""
    another = (
        "INSERT INTO phase SELECT iteration, max(phase) + 1, name, time, core, samples, samples_with_access, "
        "bandwidth_time, unowned_lines FROM phase WHERE iteration = (SELECT max(iteration) FROM phase)"
    )
    opened(changed(store_path, tmp_path, another)).close()


@pytest.mark.parametrize(
    ("statement", "subcommand"),
    [
        ("UPDATE run SET arguments = '[\"a\"'", "show"),
        ("UPDATE plan SET budget = '{'", "report"),
    ],
)
def test_subcommand_document_that_does_not_parse_says_the_file(
    terrace, store_path, tmp_path, statement, subcommand, monkeypatch
):
    path = changed(store_path, tmp_path, statement)
    monkeypatch.chdir(tmp_path)
    done = terrace(subcommand, path, *SUBCOMMANDS[subcommand])
    assert done.returncode == 1
    assert done.stderr.startswith(f"terrace: {path} is damaged: record the program again (")
    assert done.stderr.count("\n") == 1


def changed_at_random(whole, path, chosen):
    """Writes a store with a value changed, of one row of a table or of all."""
    values = (None, -1, 0, 1, 7, 1 << 20, 1 << 40, 1 << 62, -0.5, 1e-300, 1e12, 1e300, "many", "", b"\x00")
    path.write_bytes(whole)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = chosen.choice(tables)
        columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        column, keys = chosen.choice(columns)[1], [row[1] for row in columns if row[5]] or ["rowid"]
        key = connection.execute(f"SELECT {keys[0]} FROM {table} ORDER BY random() LIMIT 1").fetchone()
        where, limit = (f" WHERE {keys[0]} = ?", key or (0,)) if chosen.random() < 0.7 else ("", ())
        # Changes that the schema itself forbids have no effect.
        with contextlib.suppress(sqlite3.IntegrityError):
            connection.execute(f"UPDATE {table} SET {column} = ?{where}", (chosen.choice(values), *limit))
        connection.commit()


def ended(words, monkeypatch):
    """Exit status and messages of a subcommand in this process, because to start one takes longer than to read."""
    monkeypatch.setattr("sys.argv", ["terrace", *words])
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            cli.main()
        except SystemExit as end:
            return end.code or 0, said.getvalue()
    return 0, said.getvalue()


@pytest.mark.parametrize("seed", range(6))
def test_plan_bounds_and_report_random_value_changed_end_with_one_line_or_work(
    store_path, tmp_path, seed, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "changed.terrace"
    changed_at_random(store_path.read_bytes(), path, random.Random(seed))
    subcommand = ("plan", "bounds", "report")[seed % 3]  # each takes a second or more
    quick = ("--confidence", "0") if subcommand == "plan" else ()
    status, said = ended([subcommand, str(path), *SUBCOMMANDS[subcommand], *quick], monkeypatch)
    assert status in (0, 1, 2), said
    assert "Traceback" not in said and (status == 0 or said.count("\n") == 1), said


def test_show_and_export_random_bytes_flipped_end_with_one_line_or_work(store_path, tmp_path, monkeypatch):
    """In this process, because to start one takes longer than to read a profile."""
    monkeypatch.chdir(tmp_path)
    whole = store_path.read_bytes()
    path = tmp_path / "flipped.terrace"
    refused = 0
    for seed in range(24):
        chosen = random.Random(seed)
        content = bytearray(whole)
        for _ in range(chosen.choice((1, 4, 16, 64))):
            content[chosen.randrange(len(content))] = chosen.randrange(256)
        path.write_bytes(content)
        # The others search for placements, which takes as long as the rest of this test.
        for subcommand in ("show", "export"):
            for output in ("page.toml", "page.html", "page.json"):
                (tmp_path / output).unlink(missing_ok=True)
            words = [subcommand, str(path), *SUBCOMMANDS[subcommand]]
            monkeypatch.setattr("sys.argv", ["terrace", *words])
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                try:
                    cli.main()
                except SystemExit as end:
                    refused += end.code != 0
                    assert end.code in (0, 1, 2), (seed, words)
            assert said.getvalue().count("\n") <= 1 or "warning" in said.getvalue(), (seed, said.getvalue())
    assert refused > 12  # damage is met, and not only passed by


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_show_pipe_device_or_folder_is_no_profile(terrace, fifo, tmp_path):
    for path, says in ((fifo, "a pipe"), ("/dev/null", "a device"), (tmp_path, "a folder")):
        done = terrace("show", path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"{path} is" in done.stderr and says in done.stderr, done.stderr
        assert "no such file" not in done.stderr
