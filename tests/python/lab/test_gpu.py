"""`terrace lab gpu`: a program, its trace again, an Accel-Sim trace, refusals."""

import json
import re
import resource
import subprocess
import sys

import pytest
from terrace import _core


@pytest.fixture(scope="module", autouse=True)
def _served(terrace):
    """Makes run() call the subcommand in forks of one process."""
    global run

    def run(*words):
        return terrace("lab", "gpu", *words)


def answer(*words):
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_programs_are_listed():
    done = run()
    assert done.returncode == 0
    assert "needle" in done.stdout
    assert "Rodinia" in done.stdout
    assert {"bfs", "needle", "xsbench"} <= {program["name"] for program in answer()["programs"]}
    assert all({"test", "paper"} <= set(program["sizes"]) for program in answer()["programs"])


def test_times_multiplies_iterations():
    plain, longer = (answer("srad_v1", "--size", "test", "--times", times) for times in (1, 3))
    assert plain["instructions"] < longer["instructions"] < 3 * plain["instructions"]
    assert len(plain["page_numbers"]) == len(longer["page_numbers"])
    iterate = {program["name"] for program in answer()["programs"] if program["iterates"]}
    assert "srad_v1" in iterate
    assert "needle" not in iterate


def test_help_names_every_policy():
    said = run("--help").stdout
    policies = said[said.index("Policies: ") : said.index("Examples:")]
    for name in _core.gpu_policies():
        assert re.search(rf"[ (]{name}[ ,.]", policies.replace("\n", " ")), name
    assert "Problem size" in said


def test_saved_trace_equals_the_program(tmp_path):
    kept = tmp_path / "needle.warps"
    first = answer("needle", "--size", "test", "--keep", kept)
    assert first["checked"].endswith("allowed")
    again = answer(kept)
    assert again["cycles"] == first["cycles"]
    assert again["instructions"] == first["instructions"]
    assert first["moved_pages"] == 0
    assert first["demand_bytes"][0] == 0
    local = answer(kept, "--share", 1)
    assert local["demand_bytes"][1] == 0
    assert local["cycles"] < first["cycles"]
    moved = answer(kept, "--threshold", 1, "--range", 16, "--balanced", "--shootdown", 0)
    assert moved["moved_pages"] > 0
    assert moved["stopped_cycles"] == 0
    shown = run(kept, "--threshold", 1)
    assert "pages moved" in shown.stdout
    assert "C-AMAT, L2" in shown.stdout


def test_pages_without_capacity_are_reported(tmp_path):
    kept = tmp_path / "needle.warps"
    pages = len(answer("needle", "--size", "test", "--keep", kept)["page_accesses"])
    found = answer(kept, "--share", 1, "--memory", "16KiB")
    assert (found["placed_pages"], found["no_room_pages"]) == (4, pages - 4)
    assert f"4 of {pages}, no space for {pages - 4}" in run(kept, "--share", 1, "--memory", "16KiB").stdout
    assert "no room" not in run(kept, "--share", 1).stdout
    assert "pages placed" not in run(kept).stdout
    done = run(kept, "--memory", "17GiB")
    assert done.returncode == 2
    assert "17GiB of GPU memory were requested, but gddr of gtx480-ddr4 has " in done.stderr


def test_camat_by_kernel_and_over_time(tmp_path):
    kept = tmp_path / "srad.warps"
    whole = answer("srad_v1", "--size", "test", "--keep", kept)
    assert whole["camat_by_kernel"] == whole["camat_over_time"] == []
    found = answer(kept, "--kernels", "--every", 10000)
    assert found["cycles"] == whole["cycles"]
    assert found["camat"] == whole["camat"]
    for name in ("camat_by_kernel", "camat_over_time"):
        for level, sums in whole["camat"].items():
            for counter in ("accesses", "active_cycles", "pure_misses"):
                assert sum(part["camat"][level][counter] for part in found[name]) == sums[counter]
    assert [part["begin"] for part in found["camat_over_time"]][:3] == [0, 10000, 20000]
    assert found["camat_by_kernel"][0]["kernel"] == "extract"
    shown = run(kept, "--kernels", "--every", 10000, "--threshold", 1)
    assert "C-AMAT by kernel" in shown.stdout
    assert "after the last" in shown.stdout
    assert "C-AMAT over time" in shown.stdout


def test_accel_sim_trace_is_replayed(tmp_path):
    # Two CTAs of a warp each, which load a line each and add to it.
    head = "-kernel name = add\n-grid dim = (2,1,1)\n-block dim = (32,1,1)\n-nregs = 8\n"
    head += "-accelsim tracer version = 4\n#\n"
    body = ""
    for number in range(2):
        base = 0x7F0000000000 + 128 * number
        body += (
            f"#BEGIN_TB\nthread block = {number},0,0\nwarp = 0\ninsts = 4\n"
            f"0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x{base:x} 4\n"
            f"0010 ffffffff 1 R3 FADD 2 R2 R2 0\n0020 ffffffff 0 STG.E 2 R4 R3 4 1 0x{base:x} 4\n"
            "0030 ffffffff 0 EXIT 0 0\n#END_TB\n"
        )
    (tmp_path / "kernel-1.traceg").write_text(head + body)
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    (tmp_path / "where").write_text("x 7f0000000000 4096\n")
    found = answer(tmp_path / "kernelslist.g", "--allocations", tmp_path / "where")
    assert found["instructions"] == 8
    assert found["page_accesses"] == [4]
    # Both lines are read, and written back at the end.
    assert found["demand_bytes"] == [0, 512]
    done = run(tmp_path / "kernelslist.g")
    assert done.returncode == 2
    assert "the kernel add accesses 0x7f0000000000, which is in no allocation; " in done.stderr
    assert "--allocations FILE" in done.stderr
    (tmp_path / "kernel-1.traceg").write_text(head + body[:-10])
    done = run(tmp_path / "kernelslist.g", "--allocations", tmp_path / "where")
    assert done.returncode == 1
    assert "kernel-1.traceg, byte " in done.stderr
    assert done.stderr.count("\n") == 1


def refused(path, *words):
    """Checks for exit status 1 and a line with the file and the byte offset."""
    done = run(path, *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert f"{path.parent}/" in done.stderr
    assert ", byte " in done.stderr
    return done.stderr


# test_gpu_damage has every byte.
def test_damaged_traces_are_refused(tmp_path):
    kept = tmp_path / "needle.warps"
    answer("needle", "--size", "test", "--keep", kept)
    whole = kept.read_bytes()
    for at in (0, 11, 20, len(whole) // 2, len(whole) - 1):
        kept.write_bytes(whole[:at])
        refused(kept)
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        kept.write_bytes(damaged)
        refused(kept)
    kept.write_bytes(whole + b"x")
    refused(kept)


def test_message_is_one_line_for_any_file(tmp_path):
    (tmp_path / "kernel-1.traceg").write_bytes(b"-nregs = \xff\x1b[0m\n")
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    assert "not printable ASCII" in refused(tmp_path / "kernelslist.g")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("needle", "--range", "4"), "give --threshold N"),
        (
            ("needle", "--share", "0.5", "--threshold", "1"),
            "--share excludes --threshold and --policy",
        ),
        (("needle", "--allocations", "x"), "--allocations requires the list of an Accel-Sim trace"),
        (("nadel",), "there is no GPU program 'nadel'; there are "),
        (("kernel-1.traceg",), "; a trace is FILE.warps or the list kernelslist.g"),
        (("nowhere.g",), "nowhere.g cannot be read: No such file or directory"),
        (("needle", "--machine", "ddr5-cxl", "--size", "test"), "the machine ddr5-cxl has no [[gpu]]"),
        (("x.warps", "--save-trace", "y"), "x.warps is a trace already"),
        (("needle", "--save-trace", "needle.trace"), "the name of a trace of warps must end in .warps"),
        (("x.warps", "--times", "2"), "--times 2: x.warps is a trace, which has a fixed number of iterations"),
        (("needle", "--size", "test", "--times", "2"), "needle does not repeat anything: it cannot run 2 times"),
        (("srad_v1", "--times", "1001"), "srad_v1 can have 1 to 1000 times as many iterations, not 1001"),
        (("x.warps", "--size", "test"), "--size test: x.warps is a trace, which has a fixed size"),
        (("--json", "--share", "1", "--kernels"), "--share, --kernels: the program or trace is missing"),
        (
            ("needle", "--threshold", "5000000000"),
            "'--threshold': Input should be less than or equal to 4294967295",
        ),
        (
            ("needle", "--threshold", "1", "--range", "5000000000"),
            "'--range': Input should be less than or equal to 4294967295",
        ),
        (
            ("needle", "--threshold", "1", "--shootdown", "5000000000"),
            "'--shootdown': Input should be less than or equal to 4294967295",
        ),
        (
            ("needle", "--every", str(2**64)),
            "'--every': Input should be less than or equal to 9223372036854775807",
        ),
        (("--machine", "p100-pcie"), "--machine: the program or trace is missing"),
    ],
)
def test_wrong_calls_are_refused(words, said):
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_largest_numbers_are_accepted(tmp_path):
    kept = tmp_path / "needle.warps"
    cycles = answer("needle", "--size", "test", "--keep", kept, "--every", 2**63 - 1)["cycles"]
    most = 2**32 - 1
    assert answer(kept, "--threshold", most, "--range", most, "--shootdown", most)["cycles"] == cycles


def test_save_trace_is_atomic(tmp_path):
    kept = tmp_path / "needle.warps"
    kept.write_text("a letter")
    done = run("needle", "--size", "test", "--keep", kept)
    assert done.returncode == 2
    assert "this file exists and is not a trace of warps, so it is not overwritten" in done.stderr
    assert kept.read_text() == "a letter"
    kept.unlink()

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    line = [sys.executable, "-P", "-m", "terrace", "lab", "gpu", "needle", "--size", "test", "--keep", str(kept)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, preexec_fn=little_room)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert f"{kept}: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_trace_is_reported():
    done = run("/nowhere/x.warps")
    assert done.returncode == 2
    assert "/nowhere/x.warps" in done.stderr
