"""`terrace show`: shares are shares, and sensitivity is Unimem's."""

import html
import json
import re
import shutil
import sqlite3
from dataclasses import replace

import pytest
from terrace.report.observation import core_time, observed_accesses, uncalibrated, warnings
from terrace.solve import model
from terrace.store.reader import Store
from terrace.store.summary import by_name


@pytest.fixture(scope="module")
def document(terrace, store_path):
    return json.loads(terrace("show", store_path, "--json").stdout)


def test_shares_sum_to_one(document):
    assert sum(item["share_of_misses"] for item in document["objects"]) == pytest.approx(1)


def test_objects_are_ordered_by_traffic(document):
    traffic = [sum(phase["bytes"] for phase in item["phases"]) for item in document["objects"]]
    assert traffic == sorted(traffic, reverse=True)
    assert document["objects"][0]["name"] == "u"


def test_phases_have_all_their_runs(document):
    assert [phase["name"] for phase in document["phases"]] == ["smooth", "residual", "restrict", "exchange"]
    assert all(phase["runs"] == 6 and len(phase["iterations_s"]) == 6 for phase in document["phases"])
    assert document["unseen_share"] == pytest.approx(1.8 / 91.8)


def test_unobserved_accesses_are_reported_only_if_any(terrace, store_path):
    run, counters = Store(store_path).run(), Store(store_path).counters(Store(store_path).run())
    said = " ".join(observed_accesses(run, counters, None))
    assert "90M accesses were observed" in said
    assert "1.8M more, 2.0 % of all, were not observed" in said
    assert "belongs to no object" not in said
    assert "1.8M more" in " ".join(terrace("show", store_path).stdout.split())

    everything = observed_accesses(run, replace(counters, unseen=0), None)
    assert len(everything) == 2
    assert "90M accesses were observed" in everything[0]
    assert "was not measured" in everything[1]
    dropped = replace(counters, unseen=0, dropped=900_000)
    assert "900k of them, 1.0 %," in observed_accesses(run, dropped, None)[1]

    assert "killed" in observed_accesses(replace(run, how=None), None, None)[0]
    assert "a real run does not count" in observed_accesses(run, None, None)[0]


def test_uninstrumented_code_is_named_with_its_share(terrace, store_path, document):
    shown = " ".join(terrace("show", store_path).stdout.split())
    # 60 of 300 samples, the others at half: 60 / (60 + 120); the library has two thirds of it.
    assert "Uninstrumented code took 33.3 % of the time in the main loop" in shown
    assert "(libsolver.so.3 22.2 %, libm.so.6 11.1 %)" in shown
    assert "5.0 % of the heap, 3.81MiB of 76.3MiB, was used only by uninstrumented code or in skipped " in shown
    assert " in skipped iterations (lists 6MiB)" in shown
    assert "warning: 33 % of the time was spent in uninstrumented code" in shown
    assert (
        "Build all of libsolver.so.3 with terrace-cc, terrace-c++ or terrace-fc. libm.so.6 cannot be instrumented"
        in shown
    )
    assert document["coverage"]["time_share_without_hooks"] == pytest.approx(1 / 3)
    assert document["coverage"]["heap_share_uncovered"] == pytest.approx(0.05)
    assert len(document["coverage"]["warnings"]) == 1


def test_warnings_require_large_and_certain_shares(store_path):
    store = Store(store_path)
    run = store.run()
    coverage = store.coverage(run)
    assert len(warnings(run, coverage)) == 1
    assert warnings(run, replace(coverage, time_at_least=0.1)) == []
    assert warnings(run, None) == []
    heap = warnings(run, replace(coverage, time_at_least=0.0, heap_uncovered=coverage.heap / 5))
    assert len(heap) == 1
    little = replace(coverage, time_at_least=0.0, heap=1e6, heap_uncovered=5e5)
    assert warnings(run, little) == []
    assert heap[0].startswith("20 % of the heap")
    assert "lists 6MiB" in heap[0]
    program = replace(coverage.code[0], hooks=False, path=run.program)
    assert "Build all of the program with terrace-cc" in warnings(run, replace(coverage, code=[program]))[0]
    said = " ".join(observed_accesses(run, None, replace(coverage, code=[program, replace(program, hooks=True)])))
    assert f"(parts of {program.name} 33.3 %)" in said


def test_unmeasured_coverage_is_reported(store_path):
    store = Store(store_path)
    run = store.run()
    coverage = store.coverage(run)
    refused = replace(coverage, not_sampled="the kernel said no", samples=0, time_at_least=0.0)
    assert "was not measured: the kernel said no." in " ".join(observed_accesses(run, None, refused))
    assert "too short to sample" in " ".join(observed_accesses(run, None, replace(coverage, samples=3)))
    assert store.coverage(store.run(4002)) is None


def test_streams_are_bandwidth_sensitive_and_chases_latency_sensitive(store_path):
    store = Store(store_path)
    run = store.run()
    profile = by_name(store.profile(run))
    found = model.sensitivities(store, run, profile)
    names = [item.name for item in profile.objects]
    # In "smooth" `u` moves 36 of 50 MiB; `index` is a pointer chase in "restrict".
    assert found[names.index("u")][0] == "bandwidth"
    assert found[names.index("index")][2] == "latency"
    assert found[names.index("index")][0] == ""


def test_sensitivities_of_phases_that_the_profile_lacks_are_skipped(store_path):
    store = Store(store_path)
    run = store.run()
    profile = by_name(store.profile(run))
    names = [item.name for item in profile.objects]
    other = replace(profile, phases=[replace(profile.phases[0], name="other"), *profile.phases[1:]])
    found = model.sensitivities(store, run, other)
    assert found[names.index("u")][0] == ""
    assert found[names.index("index")][2] == "latency"


def test_killed_process_can_be_shown(terrace, store_path):
    done = terrace("show", store_path, "--process", 4002)
    assert done.returncode == 0, done.stderr
    assert "killed before it could say" in done.stdout
    assert "did not end by itself" in done.stdout


def test_every_subcommand_states_the_core_times_origin(terrace, store_path, tmp_path):
    store = Store(store_path)
    run = store.run()
    said = uncalibrated(run, store.machine(run))
    assert said.startswith("compute uncalibrated: core time is the machine's 250ps an instruction, not the")
    page = tmp_path / "page.html"
    terrace("report", store_path, "-o", page)
    verbs = (("show",), ("plan", "--confidence", "0"), ("bounds",))
    texts = [terrace(*words, store_path).stdout for words in verbs]
    for text in (*texts, html.unescape(page.read_text())):
        assert " ".join(text.split()).count(f"note: {said}") == 1
    for words in verbs:
        document = json.loads(terrace(*words, store_path, "--json").stdout)
        assert document["core_time"] == {"instruction_s": 0.25e-9, "calibrated": False}


def test_fitted_or_real_core_time_needs_no_note(store_path):
    store = Store(store_path)
    run, machine = store.run(), store.machine(store.run())
    fitted, real = replace(run, core_time_fitted=True), replace(run, core_time_fitted=None)
    assert uncalibrated(fitted, machine) is None
    assert core_time(fitted, machine) == {"instruction_s": 0.25e-9, "calibrated": True}
    assert uncalibrated(real, machine) is None
    assert core_time(real, machine) is None


def _with_found_loop(store_path, tmp_path, share):
    """Returns the job with a detected main loop of the given share of the time since it began."""
    path = tmp_path / "found.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE loop SET why = 'it repeats', name = 'solve:7', turns_before = 0")
        for run, begun, ended in database.execute("SELECT run, begun, ended FROM loop").fetchall():
            if ended is not None:
                end = begun + (ended - begun) / share
                database.execute("UPDATE run SET ended = ? WHERE id = ?", (end, run))
    return path


def test_detected_loop_with_most_of_the_run_is_the_main_loop(terrace, store_path, tmp_path):
    path = _with_found_loop(store_path, tmp_path, 0.41)
    assert json.loads(terrace("show", path, "--json").stdout)["loop"] == "solve:7"
    assert Store(path).small_loops(Store(path).run()) == []


def test_detected_loop_with_less_is_none(terrace, store_path, tmp_path):
    path = _with_found_loop(store_path, tmp_path, 0.39)
    document = json.loads(terrace("show", path, "--json").stdout)
    assert document["loop"] is None
    assert document["phases"] == []
    assert document["coverage"] is not None
    assert {item["name"] for item in document["objects"]} >= {"u", "index"}
    said = " ".join(terrace("show", path).stdout.split())
    why = "solve:7 took less than 40 % of the time since it began; --loop solve:7 selects it"
    assert f"Process 4001 has no profile: {why}. Objects, the largest first:" in said
    assert "Uninstrumented code took" in said


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (["DELETE FROM loop"], "no main loop was seen: mark it (docs/tutorials/quick-start.md), or name it: "
            "--loop NAME, or --phases f,g"),
        (["DELETE FROM loop", "UPDATE run SET backend = 'real'"],
            "no main loop was seen: name it: --loop NAME, or --phases f,g"),
        (["DELETE FROM loop", "UPDATE counters SET accesses = 0"],
            "no access was seen: build it with terrace-cc, terrace-c++ or terrace-fc"),
        (["UPDATE run SET planner = 'slow-only'"], "the planner slow-only does not profile; terrace record does"),
        (["DELETE FROM loop", "UPDATE run SET ended = NULL"],
            "it was killed, or still runs, and its profile was not written; run it again"),
    ],
)  # fmt: skip
def test_all_subcommands_explain_a_missing_profile_alike(terrace, store_path, tmp_path, changes, why):
    """`show` prints what else is known; the others fail alike."""
    path = tmp_path / "other.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        for change in ["DELETE FROM iteration", *changes]:
            database.execute(change)
    sentence = f"process 4001 has no profile: {why}"
    for words in (
        ("plan",),
        ("bounds",),
        ("report", "-o", tmp_path / "page.html"),
        ("plan", "--sweep", "fast=1MiB:2MiB"),
    ):
        done = terrace(*words, path)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"terrace: {path}: {sentence}\n")
    done = terrace("show", path)
    assert done.returncode == 0
    shown = re.escape(f"P{sentence[1:]}. ") + "(Phases as executed, and objects|Objects), the largest first:"
    assert re.search(shown, " ".join(done.stdout.split()))


@pytest.mark.parametrize(
    ("way", "column"), [("clear-refs", "used"), ("the processor's samples of accesses", "misses")]
)
def test_page_references_are_use_not_misses(terrace, store_path, tmp_path, way, column):
    path = tmp_path / "watched.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        text = f"no hooks: objects are watched by {way}"
        database.execute("INSERT INTO note (run, at, severity, text) VALUES (1, 0, 'note', ?)", (text,))
    said = terrace("show", path).stdout
    heads = [line.split() for line in said.splitlines() if line.startswith(("phase ", "object "))]
    assert [column in head for head in heads[:2]] == [True, True]
    what = {"used": "Use, traffic and exposure are estimates from the pages that were used",
            "misses": "Misses, traffic and exposure are estimates from samples"}  # fmt: skip
    assert what[column] in said
    assert ("misses" in said) == (column == "misses")


def test_camat_is_active_time_over_accesses(terrace, store_path, document, tmp_path):
    assert document["levels"] == []
    copy = tmp_path / "levels.terrace"
    shutil.copy(store_path, copy)
    run = Store(store_path).run()
    with sqlite3.connect(copy) as database:
        rows = [(0, "l3", 1e6, 0.002, 0.008), (1, "dram", 4e5, 0.006, 0.0), (2, "pmem", 0.0, 0.0, 0.0)]
        database.executemany("INSERT INTO level VALUES(?, ?, ?, ?, ?, ?)", [(run.id, *row) for row in rows])
    levels = {level["name"]: level for level in json.loads(terrace("show", copy, "--json").stdout)["levels"]}
    assert levels["l3"]["camat_s"] == pytest.approx(10e-9)
    assert levels["dram"]["camat_s"] == pytest.approx(15e-9)
    assert levels["pmem"]["camat_s"] is None
    lines = {line.split()[0]: line.split() for line in terrace("show", copy).stdout.splitlines() if line.strip()}
    assert lines["l3"] == ["l3", "1M", "10ns", "2ns", "8ns"]
    assert lines["dram"] == ["dram", "400k", "15ns", "15ns", "0s"]
    assert "pmem" not in lines
    # A file that was written before there was such a table.
    with sqlite3.connect(copy) as database:
        database.execute("DROP TABLE level")
    assert json.loads(terrace("show", copy, "--json").stdout)["levels"] == []


def test_other_loops_have_shares_and_verdicts(terrace, store_path, document, tmp_path):
    assert document["loop_candidates"] == []
    copy = tmp_path / "loops.terrace"
    shutil.copy(store_path, copy)
    run = Store(store_path).run()
    with sqlite3.connect(copy) as database:
        database.execute("UPDATE loop SET why = 'it repeats' WHERE run = ?", (run.id,))
        name = database.execute("SELECT name FROM loop WHERE run = ?", (run.id,)).fetchone()[0]
        rows = [
            (name, 1, 0.1, 0.8, 1, 6, ""),
            ("along:27", 0, 0.1, 0.7, 18, 1152, "within the main loop"),
            ("fill:3", 1, 0.0, 0.1, 1, 20, "chosen at first, but another loop does more of the work"),
            ("row:4", 0, 0.0, 0.09, 20, 400, "within fill:3"),
            ("sum:5", 0, 0.0, 0.08, 30, 10, "its iterations differ in work"),
        ]
        database.executemany(
            "INSERT INTO loop_candidate VALUES(?, ?, ?, ?, ?, ?, ?, ?)", [(run.id, *row) for row in rows]
        )
    said = json.loads(terrace("show", copy, "--json").stdout)["loop_candidates"]
    assert [one["name"] for one in said] == [name, "along:27", "fill:3", "row:4", "sum:5"]
    assert said[1] == {
        "name": "along:27", "taken": False, "begins_at": 0.1, "share": 0.7, "visits": 18, "iterations": 1152,
        "verdict": "within the main loop",
    }  # fmt: skip
    text = " ".join(terrace("show", copy).stdout.split())
    assert (
        "Not the main loop: fill:3, 10.0 % of the work, 20 iterations in 1 visit: chosen at first, but "
        "another loop does more of the work." in text
    )
    assert "Not the main loop: sum:5, 8.0 % of the work, 30 visits: its iterations differ in work." in text
    assert text.count("Not the main loop") == 2
    # A file that was written before there was such a table.
    with sqlite3.connect(copy) as database:
        database.execute("DROP VIEW main_loop")
        database.execute("DROP TABLE loop_candidate")
        database.execute("CREATE VIEW main_loop AS SELECT * FROM loop")
    assert json.loads(terrace("show", copy, "--json").stdout)["loop_candidates"] == []


def test_mpi_calls_have_times_bytes_and_imbalance(terrace, store_path, document, tmp_path):
    assert document["mpi"] is None
    assert "In MPI" not in terrace("show", store_path).stdout
    copy = tmp_path / "mpi.terrace"
    shutil.copy(store_path, copy)
    store = Store(store_path)
    run = store.run()
    other = next(one for one in store.runs() if one.id != run.id)
    functions = [("Send", 1000, 0.25, 8192000, 0), ("Recv", 2, 0.5, 0, 10), ("Barrier", 1, 0.125, 0, 0)]
    functions += [(f"Type_{name}", 1, 0.0625, 0, 0) for name in ("commit", "free", "size")]
    messages = [(-1, 4, 250, 2000), (0, 4, 250, 2000), (1, 14, 500, 4096000)]
    with sqlite3.connect(copy) as database:
        database.execute(
            "UPDATE run SET ranks = 2, rank = 0, backend = 'real', ended = 10 WHERE id = ?", (run.id,)
        )
        database.execute("UPDATE run SET ranks = 2, rank = 1 WHERE id = ?", (other.id,))
        database.executemany(
            "INSERT INTO mpi_call VALUES(?, ?, ?, ?, ?, ?)", [(run.id, *row) for row in functions]
        )
        database.execute("INSERT INTO mpi_call VALUES(?, 'Recv', 1, 4, 0, 8)", (other.id,))
        database.executemany("INSERT INTO mpi_message VALUES(?, ?, ?, ?, ?)", [(run.id, *row) for row in messages])
        objects = [("pools", "sysv", "hbm0", 2, 8 << 20, 4096), ("fifos", "sysv", None, 1, 16384, 0)]
        database.executemany(
            "INSERT INTO mpi_object VALUES(?, 'MPICH 4.0.2', ?, ?, ?, ?, ?, ?)",
            [(run.id, *row) for row in objects],
        )
        names = [one.name for one in store.objects(run)][:2]
        database.execute(
            "UPDATE object SET name = 'MPICH 4.0.2#' || id WHERE run = ? AND name IN (?, ?)", (run.id, *names)
        )
    said = json.loads(terrace("show", copy, "--rank", "0", "--json").stdout)["mpi"]
    assert said["time_s"] == 1.0625
    assert said["share_of_run"] == 0.10625
    assert [one["function"] for one in said["functions"]][:4] == ["Recv", "Send", "Barrier", "Type_commit"]
    assert len(said["functions"]) == 6
    assert said["functions"][1] == {
        "function": "Send", "calls": 1000, "time_s": 0.25, "sent_bytes": 8192000, "received_bytes": 0
    }  # fmt: skip
    assert said["messages"][0] == {"peer": None, "size_class": 4, "messages": 250, "bytes": 2000, "least_bytes": 8}
    assert said["ranks_s"] == [{"rank": 0, "time_s": 1.0625}, {"rank": 1, "time_s": 4.0}]
    assert [(one["kind"], one["place"], one["bytes"]) for one in said["memory"]] == [
        ("pools", "hbm0", 8 << 20),
        ("fifos", None, 16384),
    ]
    assert terrace("show", copy, "--rank", "0", "--all").stdout.count("MPICH 4.0.2#") >= 2
    text = " ".join(terrace("show", copy, "--rank", "0").stdout.split())
    assert "Memory of MPICH 4.0.2: pools 8MiB bound to hbm0, fifos 16KiB; 4KiB of them stayed elsewhere." in text
    assert "MPICH 4.0.2 library" in text and "MPICH 4.0.2#" not in text  # one row
    assert "In MPI: 1.06s, 10.6 % of the run, in 1,006 calls." in text
    assert "Recv 2 500ms 0B 10B Send 1,000 250ms 7.81MiB 0B" in text
    assert "Type_free" in text and "Type_size" not in text  # the five longest
    assert "Messages sent, by size rounded down to a power of two: 8B: 500, 8KiB: 500." in text
    assert "Imbalance over 2 ranks: most time in MPI 4s (rank 1), least 1.06s (rank 0)." in text
