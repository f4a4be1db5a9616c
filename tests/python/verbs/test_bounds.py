"""The columns of `terrace bounds`: one run of a program, priced in every configuration."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# 1 MiB that a cache of 32 KiB does not hold: so little that moves pay for their bytes alone.
RUN = ("-m", "unimem-lat4@ideal", "--cache", "l3=32KiB", "--json")
COLUMNS = ("slow_only_s", "cache_mode_s", "guided_s", "managed_s", "lower_bound_s", "fast_only_s")


def _bounds(terrace, folders, *options):
    done = terrace("bounds", *RUN, *options, "--", folders[1] / "adds", "131072")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_plan_with_everything_in_fast_memory_equals_fast_only(terrace, folders, tmp_path):
    """And a plan without moves to fast memory equals slow-only, also by phase."""
    for place, like in (("dram", "fast_only_s"), ("nvm", "slow_only_s")):
        plan = tmp_path / f"{place}.toml"
        plan.write_text(f'schema = 1\n[[object]]\nname = "*"\nplace = "{place}"\n')
        document = _bounds(terrace, folders, "--fast", "2MiB", "--guided", plan)
        for row in (document, *document["phases"]):
            assert row["guided_s"] == pytest.approx(row[like], rel=0.01)


def test_phases_add_up_in_every_column(terrace, folders):
    """Static placements do not include learning."""
    document = _bounds(terrace, folders, "--fast", "256KiB")
    assert document["guided_s"] is None
    for column in COLUMNS:
        if column not in ("guided_s", "lower_bound_s"):
            assert document[column] == pytest.approx(sum(row[column] for row in document["phases"]))
    assert document["lower_bound_s"] <= document["managed_s"] <= document["slow_only_s"] * 1.01


def test_cache_that_holds_everything_is_nearly_fast_memory(terrace, folders):
    """Each line comes from slow memory once; a small cache that is swept is no better than slow memory."""
    large, small = (_bounds(terrace, folders, "--fast", size) for size in ("2MiB", "256KiB"))
    assert large["cache_mode_s"] == pytest.approx(large["fast_only_s"], rel=0.1)
    assert small["cache_mode_s"] >= small["slow_only_s"]


@pytest.mark.parametrize("option", ["--plan", "--guided"])
def test_profile_with_plan_is_refused(terrace, store_path, tmp_path, option):
    """One line states what to do; the former name of the option means the same."""
    done = terrace("bounds", store_path, option, tmp_path / "plan.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "terrace: --plan requires a program: give `-- PROGRAM` instead of a profile\n"


def test_loop_and_phases_are_passed_to_the_run(terrace, folders, store_path):
    """An unknown loop is refused as by `simulate`; a profile has its own."""
    done = terrace("bounds", *RUN, "--loop", "no_such_loop", "--", folders[1] / "adds", "131072")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no loop is called 'no_such_loop'" in done.stderr and done.stderr.count("\n") == 1
    both = terrace("bounds", *RUN, "--loop", "main", "--phases", "main", "--", folders[1] / "adds", "131072")
    assert both.returncode == 2 and "only one" in both.stderr
    for option in ("--loop", "--phases"):
        done = terrace("bounds", store_path, option, "main")
        assert done.returncode == 2
        assert (
            done.stderr == "terrace: --phases and --loop require a program: "
            "a profile has those of its run; give `-- PROGRAM`\n"
        )


ONE_KIND = len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) <= 1
HERE = pytest.mark.skipif(not ONE_KIND, reason="there may be more than one kind of memory here")


@pytest.mark.parametrize("machine", [("-m", "ddr5-nvme"), pytest.param((), marks=HERE)], ids=["named", "here"])
def test_machine_with_one_memory_has_no_cache_mode(terrace, folders, machine):
    """And no possible gain."""
    done = terrace("bounds", *machine, "--cache", "l3=32KiB", "--json", "--", folders[1] / "adds", "131072")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["cache_mode_s"] is None
    assert document["slow_only_s"] == document["fast_only_s"] > 0


def test_uninstrumented_program_is_told_how_to_be_built(terrace, tmp_path):
    """It cannot have a marked or named loop, because nothing of it is observed."""
    (tmp_path / "sums.c").write_text(
        "int main(void) { volatile long sum = 0; for (int i = 0; i < 1000; ++i) sum += i; return 0; }"
    )
    subprocess.run(["gcc", tmp_path / "sums.c", "-o", tmp_path / "sums"], check=True)
    done = terrace("bounds", "-m", "unimem-lat4", "--", tmp_path / "sums")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "terrace: no access was seen: build it with terrace-cc, terrace-c++ or terrace-fc\n"


INCLUDE = Path(__file__).resolve().parents[3] / "include"

# Two passes over 1 MiB in each iteration but the last, which ends after the first of them.
ENDS_EARLY = """
#include <stdio.h>
#include <stdlib.h>
#include <terrace/terrace.h>
int main(void) {
  enum { count = 1 << 17, turns = 6 };
  double *values = malloc(count * sizeof *values), sum = 0;
  for (int i = 0; i < count; ++i) values[i] = i;
  terrace_loop_begin("passes");
  for (int t = 0; t < turns; ++t) {
    terrace_phase("first");
    for (int i = 0; i < count; ++i) sum += values[i];
    if (t + 1 == turns) break;
    terrace_phase("second");
    for (int i = 0; i < count; ++i) sum += values[i];
  }
  terrace_loop_end();
  printf("%g\\n", sum);
  free(values);
  return 0;
}
"""


def test_bound_is_below_the_mean_iteration_if_the_last_ends_early(terrace, tmp_path):
    """The mean iteration of a run in fast memory alone is shorter than a usual one; samples prove nothing."""
    (tmp_path / "passes.c").write_text(ENDS_EARLY)
    launcher, compiler = (str(Path(sys.executable).with_name(name)) for name in ("terrace", "terrace-cc"))
    program, profile, fast = tmp_path / "passes", tmp_path / "p.terrace", tmp_path / "fast.terrace"
    subprocess.run(
        [compiler, "-O2", "-g", f"-I{INCLUDE}", tmp_path / "passes.c", "-o", program, "-ldl"], check=True
    )
    machine = ("-m", "unimem-lat4", "--cache", "l3=32KiB")
    subprocess.run([launcher, "record", "-q", *machine, "-o", profile, "--", program], check=True, stdout=-3)
    only = [launcher, "simulate", "--json", *machine, "--planner", "fast-only", "-o", fast, "--", program]
    done = subprocess.run(only, check=True, capture_output=True, text=True)
    said = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    mean = said["loop_s"] / said["iterations"]
    document = json.loads(terrace("bounds", profile, "--json").stdout)
    assert 0.9 * mean < document["lower_bound_s"] <= mean * (1 + 1e-9)
    text = terrace("bounds", profile).stdout
    assert document["lower_bound_confidence"] == 0.99
    assert "At 99 % confidence" in " ".join(text.split()) and "No placement" not in text
    assert [one["footprint_share"] for one in document["sizes"]] == [0.25, 0.5, 0.75]
