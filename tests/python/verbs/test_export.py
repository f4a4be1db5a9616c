"""`terrace export`: the timeline is valid trace-event JSON, and tables are complete."""

import csv
import io
import json
import math
import sqlite3
from collections import defaultdict

import pytest

# Trace Event Format (Google, 2016): what each type of event needs beside name, ph, pid and tid.
NEEDED = {"X": {"ts", "dur", "cat"}, "M": {"args"}, "i": {"ts", "s"}}


@pytest.fixture(scope="module")
def events(terrace, store_path):
    done = terrace("export", store_path, "--format", "perfetto")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["traceEvents"]


def test_events_have_the_fields_of_their_type(events):
    assert {event["ph"] for event in events} == {"X", "M", "i"}
    for event in events:
        assert {"name", "ph", "pid", "tid"} | NEEDED[event["ph"]] <= event.keys()
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert all(math.isfinite(event[key]) and event[key] >= 0 for key in ("ts", "dur") if key in event)


def test_every_thread_has_a_name(events):
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= named


def test_slices_of_a_thread_nest(events):
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    slack = 1e-6  # microseconds: what rounding in addition may take
    for slices in threads.values():
        open_until = []
        for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= event["ts"] + slack:
                open_until.pop()
            end = event["ts"] + event["dur"]
            assert not open_until or end <= open_until[-1] + slack
            open_until.append(end)


def test_all_events_are_exported(events, store_path):
    with sqlite3.connect(store_path) as store:
        count = {
            name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("phase_instance", "move")
        }
        waits = store.execute("SELECT count(*), sum(waited) FROM phase_instance WHERE waited > 0").fetchone()
    kinds = defaultdict(list)
    for event in events:
        kinds[event.get("cat")].append(event)
    assert len(kinds["phase"]) == count["phase_instance"]
    assert len(kinds["move"]) == count["move"]
    assert len(kinds["wait"]) == waits[0]
    assert sum(event["dur"] for event in kinds["wait"]) == pytest.approx(waits[1] * 1e6)
    assert {event["args"]["target"] for event in kinds["move"]} == {"dram", "nvm"}


def test_csv_is_complete(terrace, store_path):
    done = terrace("export", store_path, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    with sqlite3.connect(store_path) as store:
        (lines,) = store.execute("SELECT sum(read_lines) FROM cell").fetchone()
    assert sum(float(row["read_lines"]) for row in rows) == pytest.approx(lines)


def test_json_has_every_table(terrace, store_path, tmp_path):
    target = tmp_path / "all.json"
    assert terrace("export", store_path, "--format", "json", "-o", target).returncode == 0
    document = json.loads(target.read_text())
    assert document["schema"] == 1
    with sqlite3.connect(store_path) as store:
        tables = {row[0] for row in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert set(document["tables"]) == tables
        for name, rows in document["tables"].items():
            assert len(rows) == store.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
