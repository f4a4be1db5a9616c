"""Calibration of running programs: cases without a usable time are refused, and the run reports it."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from terrace.errors import TerraceError
from terrace.lab import calibrating
from terrace.lab.calibrating import Program
from terrace.lab.surroundings import Surroundings
from terrace.solve.core_times import PhaseFits
from terrace.verbs.lab import calibrate

MACHINE = "unimem-lat4"

# zero: prints 0.00, whatever it did; sleeps: two tenths of a second; barriers: two threads that do nothing else;
# works: ten million additions; asks: reads "yes" from standard input and from a file, writes a file that must not
# be there yet, prints what is no text, and ends with 20.
FAKES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static volatile double a[512];
static void* meet(void* unused) {
  for (int i = 0; i < 20000; ++i) { a[i % 512] += 1; pthread_barrier_wait(&barrier); }
  return unused;
}
static void mark(const char* marker, const char* name) {
  void (*const call)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, marker);
  if (call) call(name);
}
static int says_yes(FILE* file) {
  char word[8] = "";
  return file && fgets(word, sizeof word, file) && !strcmp(word, "yes");
}
static int ask(void) {
  if (!says_yes(stdin) || !says_yes(fopen("given", "r")) || !fopen("made", "wx")) return 1;
  fputs("\xff\n", stdout);
  return 20;
}
int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const long turns = strcmp(what, "works") ? 2 : 20000;
  mark("terrace_loop_begin", "main");
  for (long k = 0; k < turns; ++k) {
    if (k % 1000 < 2) mark("terrace_phase", "add");
    for (int i = 0; i < 512; ++i) a[i] += 1;
  }
  mark("terrace_loop_end", 0);
  if (!strcmp(what, "sleeps")) { usleep(200000); printf("Time 0.200 s\n"); }
  if (!strcmp(what, "barriers")) {
    pthread_t other;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&other, 0, meet, 0);
    meet(0);
    pthread_join(other, 0);
  }
  if (!strcmp(what, "asks")) return ask();
  if (!strcmp(what, "zero")) printf("Time 0.00 s\n");
  return 0;
}
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the instrumented program, with its native build next to it, as --calibrate expects."""
    folder = tmp_path_factory.mktemp("fakes")
    (folder / "fakes.c").write_text(FAKES)
    for name, compiler in (("fakes.native", "gcc"), ("fakes", str(Path(sys.executable).with_name("terrace-cc")))):
        subprocess.run([compiler, "-O2", folder / "fakes.c", "-o", folder / name, "-pthread", "-ldl"], check=True)
    return folder / "fakes"


def of_fake(fakes: Path, what: str, runs: int = 3) -> calibrating.Calibrated[PhaseFits]:
    """Returns the calibration of a fake program."""
    program = Program("fakes", [calibrate.find_native(fakes, None), what], [fakes, what])
    (found,) = calibrating.calibrate([program], MACHINE, min_runs=runs)
    return found


def test_calibrate_program_without_printed_time_refused(fakes: Path) -> None:
    """The whole process is too short as well."""
    found = of_fake(fakes, "zero", runs=9)
    assert found.fits is None and found.constant.clock == "process"
    assert found.constant.why.startswith("too short: it prints 0.00 s")


def test_calibrate_sleeping_program_refused(fakes: Path) -> None:
    """The program sleeps, although it prints a time of three digits."""
    found = of_fake(fakes, "sleeps")
    assert found.fits is None and "sleeps or waits" in found.constant.why


def test_calibrate_program_of_barriers_refused(fakes: Path) -> None:
    """All threads wait for each other most of the time, asleep or spinning; or one thread waits for the other."""
    found = of_fake(fakes, "barriers")
    assert found.fits is None
    refused = ("waits", "several threads", "too noisy")
    assert any(word in found.constant.why for word in refused), found.constant.why


@pytest.fixture
def asked(tmp_path: Path) -> Surroundings:
    """Returns the surroundings that the program `asks` requires."""
    (tmp_path / "stdin").write_text("yes")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "given").write_text("yes")
    return Surroundings(tmp_path / "stdin", folder, 20)


def test_calibrate_input_files_and_status_applied_to_each_run(fakes: Path, asked: Surroundings) -> None:
    """Each run has fresh files, natively and in virtual time; otherwise it fails and says so."""
    native = calibrate.find_native(fakes, None)

    def calibrated(around: Surroundings) -> int:
        (found,) = calibrating.calibrate(
            [Program("fakes", [native, "asks"], [fakes, "asks"], around=around)], MACHINE, min_runs=3
        )
        return found.constant.runs

    assert calibrated(asked) >= 3
    for less in ({"stdin": None}, {"folder": None}, {"status": 0}):
        with pytest.raises(TerraceError, match="ended with"):
            calibrated(replace(asked, **less))
    with pytest.raises(TerraceError, match="No such file"):
        calibrated(replace(asked, stdin=fakes.with_name("nothing")))
    assert asked.folder is not None and [path.name for path in asked.folder.iterdir()] == ["given"]


def launched(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the launcher."""
    command = [str(Path(sys.executable).with_name("terrace")), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_calibrate_options_reach_the_runs(fakes: Path, asked: Surroundings, tmp_path: Path) -> None:
    """The options for input, files and status apply to every run."""
    assert asked.stdin is not None and asked.folder is not None
    words = ["simulate", "-m", MACHINE, "--calibrate", "asks", "-o", tmp_path / "x.terrace"]
    around = ["--calibrate-stdin", asked.stdin, "--calibrate-in", asked.folder, "--calibrate-status", "20"]
    done = launched(*words, *around, "--", fakes, "works")
    assert done.returncode == 0 and "calibrated: " in done.stderr, done.stderr
    assert f"'asks' of {fakes}.native, with standard input {asked.stdin}" in done.stderr
    for left_out in range(0, 6, 2):
        less = launched(*words, *around[:left_out], *around[left_out + 2 :], "--", fakes, "works")
        assert less.returncode == 1 and "ended with" in less.stderr


@pytest.mark.parametrize("verb", ["simulate", "record"])
def test_run_refused_calibration_reported_everywhere(fakes: Path, tmp_path: Path, verb: str) -> None:
    """The run says so in its summary, in the profile and by show; the program runs nevertheless."""
    store = tmp_path / "x.terrace"
    words = ["--machine", MACHINE, "--calibrate", "zero", "--output", store]
    done = launched(verb, *words, "--", fakes, "works")
    assert done.returncode == 0, done.stderr
    assert "terrace: not calibrated: the machine's" in done.stderr and "too short" in done.stderr
    ((fitted, why),) = sqlite3.connect(store).execute("select core_time_fitted, core_time_from from run")
    assert fitted == 0 and "too short" in why and "'zero' of" in why
    shown = launched("show", store)
    assert f"note: compute uncalibrated: {why}" in shown.stdout
    assert json.loads(launched("show", store, "--json").stdout)["core_time"]["from"] == why


def test_calibrate_computing_program_taken_or_refused(fakes: Path, tmp_path: Path) -> None:
    """The time depends on this machine, so only consequences are checked."""
    store = tmp_path / "x.terrace"
    words = ["--machine", MACHINE, "--calibrate", "works", "--output", store]
    done = launched("simulate", *words, "--", fakes, "works")
    assert done.returncode == 0, done.stderr
    ((fitted, said),) = sqlite3.connect(store).execute("select core_time_fitted, core_time_from from run")
    assert ("terrace: calibrated: " in done.stderr) == bool(fitted)
    assert said in done.stderr and said in launched("show", store).stdout


def test_run_impossible_calibration_refused_before_start(fakes: Path, tmp_path: Path) -> None:
    """Each message names what is missing and what to do; nothing is written."""

    def said(*words: object) -> str:
        done = launched("simulate", *words)
        assert done.returncode == 2
        return done.stderr

    alone = tmp_path / "alone"
    alone.write_bytes(fakes.read_bytes())
    beside = said("--calibrate", "zero", "--", alone)
    assert f"native program {alone}.native not found" in beside and "--native FILE" in beside
    assert "it is instrumented" in said("--calibrate", "zero", "--native", fakes, "--", fakes)
    assert "is not instrumented" in said("--calibrate", "zero", "--", f"{fakes}.native")
    assert "is not a file" in said("--calibrate", "zero", "--", "mpirun", fakes)
    assert "No closing quotation" in said("--calibrate", "'zero", "--", fakes)
    assert "it is instrumented" in said("--native", fakes, "--", fakes)
    assert "--core-time" in said("--native", fakes, "--core-time", "1ns", "--", fakes)
    assert "is not a file" in said("--calibrate", "zero", "--calibrate-stdin", tmp_path / "none", "--", fakes)
    assert "is not a folder" in said("--calibrate", "zero", "--calibrate-in", tmp_path / "none", "--", fakes)
    assert "--calibrate" in said("--calibrate-status", "20", "--", fakes)
    assert "--core-time" in said("--calibrate", "zero", "--core-time", "1ns", "--", fakes)
    for forgotten in ((), ("--native", f"{fakes}.native")):
        lines = said("--calibrate", *forgotten, "--", fakes)
        assert "--calibrate: needs the program's arguments first; write --calibrate '' for none" in lines
    expected = f"native program {alone}.native not found"
    assert expected in said("--calibrate", "--class S", "--", alone), "the program's own option"
    assert not list(tmp_path.glob("*.terrace"))
