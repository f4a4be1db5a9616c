"""`make results` in a tree of its own: it goes on where it stopped, and mixes no commits."""

# The fixture is imported by name.
# ruff: noqa: F401, F811
import json

import pytest
from results_tree import tree

PAGE = "docs/results/toy.md"


# --- going on ----------------------------------------------------------------------------------------------------


def test_harness_each_criterion_is_measured_once(tree):
    done = tree.run("--only", "toy")
    assert done.returncode == 0, done.stderr
    assert tree.measured() == ["first", "second", "part0", "part1", "part2"]
    again = tree.run("--only", "toy")
    assert again.returncode == 0, again.stderr
    assert tree.measured() == []


def test_harness_interrupted_program_resumes_at_its_criterion(tree):
    tree.order("die second")
    assert tree.run("--only", "toy").returncode == 1
    assert tree.measured() == ["first", "second"]
    tree.order("")
    assert tree.run("--only", "toy").returncode == 0
    assert tree.measured() == ["second", "part0", "part1", "part2"]
    assert [line["verdict"] for line in tree.document()["lines"]] == ["holds", "falls short", "holds"]


def test_harness_terminated_program_cleans_up(tree):
    tree.order("end second")
    assert tree.toy().returncode == 143
    assert tree.measured() == ["first", "second", "cleared"]
    tree.order("")
    assert tree.toy().returncode == 1  # a line falls short
    assert tree.measured() == ["second", "part0", "part1", "part2"]


def test_harness_interrupted_criterion_resumes_at_its_part(tree):
    tree.order("die part1")
    assert tree.toy().returncode == 9
    assert tree.measured() == ["first", "second", "part0", "part1"]
    tree.order("")
    assert tree.toy().returncode == 1  # a line falls short
    assert tree.measured() == ["part1", "part2"]
    assert tree.document()["lines"][2]["measured"] == "0 1 2"


@pytest.mark.parametrize(("order", "said"), [("fail first", "failed: it broke"), ("miss first", "no such tool")])
def test_harness_failed_criterion_is_retried_last(tree, order, said):
    tree.order(order)
    assert tree.toy("--only", "first").returncode == 1
    assert said in tree.document()["lines"][0]["measured"]
    assert tree.document()["lines"][0]["verdict"] == "falls short"
    tree.order("")
    tree.measured()
    tree.toy()
    assert tree.measured() == ["second", "part0", "part1", "part2", "first"]
    assert tree.document()["lines"][0]["measured"] == "4 of 5"


def test_harness_time_is_up_starts_nothing(tree):
    done = tree.run("--only", "toy", "--budget", "0")
    assert done.returncode == 3
    assert "unfinished, the same command goes on: toy" in done.stdout
    assert tree.measured() == []
    assert [line["verdict"] for line in tree.document()["lines"]] == ["not run"] * 3


def test_harness_time_may_end_between_parts(tree):
    tree.order("late part0")
    done = tree.toy("--only", "third")
    assert done.returncode == 3
    assert "1 are still to be measured" in done.stdout
    tree.order("")
    assert tree.toy("--only", "third").returncode == 0
    assert tree.measured() == ["part0", "part1", "part2"]


def test_harness_only_selects_criteria(tree):
    assert tree.run("--only", "toy:sec").returncode == 0
    assert tree.measured() == ["second"]
    assert "| first | at least 3 |  | *not run on this commit* |" in tree.read(PAGE)


def test_runner_unknown_step_is_named(tree):
    for words, said in (
        (["--only", "nothing"], "there is no such step"),
        (["--only", "demo:x"], "has no criteria"),
    ):
        done = tree.run(*words)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_runner_crashed_program_is_a_failed_step(tree):
    tree.write("acceptance/run_toy.py", "raise SystemExit(1)\n")
    tree.commit("Break it")
    done = tree.run("--only", "toy")
    assert done.returncode == 1
    assert "acceptance/toy ended with 1 before all criteria were measured" in done.stderr


def test_harness_reduced_run_is_not_kept(tree):
    done = tree.toy("--quick")
    assert "nothing is kept" in done.stderr
    assert not tree.folder().exists()
    assert json.loads(tree.read("out/acceptance/toy.json"))["lines"][0]["measured"] == "4 of 5"
    tree.measured()
    tree.toy("--quick")
    assert tree.measured() == ["first", "second", "part0", "part1", "part2"]


# --- one commit --------------------------------------------------------------------------------------------------


def test_results_name_commit_machine_and_day(tree):
    tree.run("--only", "toy")
    document = tree.document()
    assert document["commit"] == tree.git("rev-parse", "HEAD")
    assert document["dirty"] is False
    for line in document["lines"]:
        assert set(line["machine"]) == {"processor", "cores", "memory_bytes", "kernel"}
        assert len(line["date"]) == len("2026-11-23")


def test_documents_of_two_commits_are_refused(tree):
    tree.run("--only", "toy")
    tree.keep("demo", {"commit": "f" * 40, "tables": {}})
    before = tree.read(PAGE)
    for done in (tree.run("--pages"), tree.run("--only", "toy"), tree.toy()):
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "results of two versions" in done.stderr
        assert "demo.json is of ffffffffffff, toy.json of " + tree.git("rev-parse", "HEAD")[:12] in done.stderr
    assert tree.read(PAGE) == before


def test_a_folder_that_is_of_another_commit_throughout_is_refused(tree):
    tree.keep("demo", {"commit": "f" * 40, "tables": {}})
    done = tree.run("--pages")
    assert done.returncode == 2
    assert "demo.json is of ffffffffffff, the tree is at " in done.stderr


def test_runner_other_commit_starts_anew(tree):
    tree.run("--only", "toy")
    assert "9.25 % on average" in tree.read(PAGE)
    tree.write("source.txt", "changed")
    tree.commit("Change the source")
    assert tree.run("--pages").returncode == 0
    assert "9.25" not in tree.read(PAGE)
    assert "Not run on this commit: `acceptance/toy`" in tree.read(PAGE)
    tree.measured()
    tree.run("--only", "toy")
    assert tree.measured() == ["first", "second", "part0", "part1", "part2"]


def test_version_commit_of_pages_is_no_other_version(tree):
    tree.run("--only", "toy")
    before = tree.git("rev-parse", "HEAD")
    tree.commit("Write the pages")
    tree.measured()
    done = tree.run("--only", "toy")
    assert done.returncode == 0, done.stderr
    assert tree.measured() == []
    assert f"commit `{before[:12]}`" in tree.read(PAGE)
    tree.write("README.md", tree.read("README.md").replace("Before.", "Before this."))
    after = tree.commit("Reword")
    tree.run("--pages")
    assert before[:12] not in tree.read(PAGE)
    assert not tree.folder(after).exists()


def test_pages_of_an_earlier_commit_say_so(tree):
    tree.run("--only", "toy")
    before = tree.git("rev-parse", "HEAD")
    tree.write("acceptance/results/templates/toy.md", "# Toy\n\nOther words.\n\n{{ lines toy }}\n")
    tree.commit("Reword")
    assert tree.run("--of", before).returncode == 0
    assert "Other words." in tree.read(PAGE)
    assert f"commit `{before[:12]}`" in tree.read(PAGE)
    wrong = tree.run("--of", "abc")
    assert wrong.returncode == 2
    assert "nothing is kept of it" in wrong.stderr


# --- a tree with changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["acceptance/run_toy.py", "new.txt", "README.md"])
def test_a_tree_with_changes_is_refused(tree, name):
    path = tree.root / name
    path.write_text((path.read_text() if path.exists() else "") + "\n# changed\n")
    done = tree.run("--only", "toy")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"({name})" in done.stderr
    assert "--allow-dirty" in done.stderr
    assert tree.measured() == []


def test_pages_allowed_changes_are_named(tree):
    tree.write("new.txt", "changed")
    assert tree.run("--only", "toy", "--allow-dirty").returncode == 0
    assert "**with changes that are in no commit**" in tree.read(PAGE)
    assert "with changes that are in no commit" in tree.read("docs/results/index.md")
    tree.measured()
    tree.run("--only", "toy", "--allow-dirty")
    assert tree.measured() == []
    (tree.root / "new.txt").unlink()  # what was kept then is not taken for the commit's
    tree.run("--only", "toy")
    assert tree.measured() == ["first", "second", "part0", "part1", "part2"]
    assert "no commit" not in tree.read(PAGE)


def test_harness_dirty_tree_keeps_nothing(tree):
    tree.write("new.txt", "changed")
    done = tree.toy()
    assert "the tree has changes: nothing is kept" in done.stderr
    assert not (tree.root / "out" / "results").exists()
    assert not (tree.root / "docs" / "results" / "data").exists()
    tree.measured()
    tree.toy()
    assert tree.measured() == ["first", "second", "part0", "part1", "part2"]


def test_version_pages_and_pictures_are_no_changes(tree):
    tree.run("--only", "toy")
    tree.write("docs/pictures/report.png", "a picture")
    done = tree.run("--only", "toy")
    assert done.returncode == 0, done.stderr


# --- the installed copy ------------------------------------------------------------------------------------------

RULE = """\
{0}:
\t@echo {0} >> $(TOY_LOG).made; echo some words; test ! -f $(TOY_LOG).broken
"""


@pytest.fixture
def made(tree):
    """Returns a tree with a Makefile, and the targets made in it since the last query."""
    tree.write("Makefile", RULE.format("build") + RULE.format("benchmarks"))
    tree.commit("Add a Makefile")
    log = tree.log.with_name("log.made")

    def words():
        found = log.read_text().split() if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    return words


def test_runner_builds_the_tree_before_measuring(tree, made):
    done = tree.toy("--only", "first")
    assert done.returncode == 0, done.stderr
    assert "some words" not in done.stdout
    assert made() == ["build"]
    tree.run("--only", "toy")
    assert made() == ["benchmarks", "build"]


def test_runner_builds_nothing_if_nothing_is_kept_or_measured(tree, made):
    tree.toy("--budget", "0")
    tree.toy("--only", "first", "--quick")
    tree.run("--list")
    tree.run("--pages")
    tree.run("--budget", "0")
    tree.write("new", "")
    tree.toy("--only", "first")
    assert made() == []


def test_runner_failed_build_measures_nothing(tree, made):
    tree.log.with_name("log.broken").write_text("")
    for done, target in ((tree.toy(), "build"), (tree.run(), "benchmarks")):
        assert done.returncode == 2
        assert f"make {target} ended with 2: there is no copy of this tree to run" in done.stderr
        assert "some words" in done.stdout
    assert tree.measured() == []
    assert made() == ["build", "benchmarks"]


def test_runner_changed_copy_restarts_the_program(tree, made):
    """Modules of the copy before it are loaded: the program begins again, and finds nothing to install."""
    log = "build/release/install.log"
    rule = f".PHONY: build\nbuild:\n\t@if test -d build; then echo '-- Up-to-date: x' > {log}; "
    rule += f"else mkdir -p build/release; echo '-- Installing: x' > {log}; fi; echo $@ >> $(TOY_LOG).made\n"
    tree.write("Makefile", rule)
    tree.write(".gitignore", "/out/\n/build/\n__pycache__/\n")
    tree.commit("Install")
    done = tree.toy("--only", "first")
    assert done.returncode == 0, done.stderr
    assert made() == ["build", "build"]
    assert tree.measured() == ["first"]


def test_runner_unstable_copy_is_refused(tree, made):
    rule = (
        ".PHONY: build\nbuild:\n\t@mkdir -p build/release; echo '-- Installing: x' > build/release/install.log\n"
    )
    tree.write("Makefile", rule)
    tree.write(".gitignore", "/out/\n/build/\n__pycache__/\n")
    tree.commit("Install")
    done = tree.toy("--only", "first")
    assert done.returncode == 2
    assert "installs files again" in done.stderr
    assert tree.measured() == []
