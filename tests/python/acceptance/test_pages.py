"""The pages: what is below target is printed so, the README's block is whole and in place, twice is the same."""

# The fixture is imported by name.
# ruff: noqa: F401, F811
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from results.steps import all_steps
from results.templates import texts
from results.version import BEGIN, END, rest
from results_tree import ROOT, tree

PAGE = "docs/results/toy.md"
DEMO = {
    "workload": "cg", "machine": "unimem-lat4", "ratio": "half",
    "fast_bytes": 5_300_000, "footprint_bytes": 6_500_000,
    "slow_only_s": 5.0539, "first_touch_s": 3.1, "interleave_s": 2.9, "live_moves": 7, "managed_s": 1.743,
    "live_s": 1.7502, "steady_s": 0.9, "steady_fast_only_s": 0.89,
    "fast_only_s": 1.7207, "lower_bound_s": 1.7181, "gap": 0.0129, "steady_gap": 0.011, "moves": 102448,
    "moved_bytes": 1, "overlap": None, "iterations": 75, "verified": True,
}  # fmt: skip
PAGING = {
    "program": "mg", "data_bytes": 456_000_000, "limit_bytes": 228_000_000, "in_memory_s": 2.3, "terrace_s": 4.7,
    "kernel_s": 24.1, "kernel_stopped": True, "speedup": 5.13,
}  # fmt: skip


def test_pages_criterion_below_target_is_marked(tree):
    tree.run("--only", "toy")
    page = tree.read(PAGE)
    assert "| first | at least 3 | 4 of 5 | met |" in page
    assert "| second | at most 7 % | 9.25 % on average | **below target** |" in page
    assert "3 criteria: 2 met, **1 below target**." in page
    assert "*second*:\n\n- 9.25 % on average\n- cg 9 %\n- mg 9.5 %" in page
    assert "3 of 3 criteria measured, below target: 1" in tree.read("docs/results/index.md")


def test_pages_table_has_a_caption(tree):
    tree.run("--only", "toy")
    line = tree.document()["lines"][0]
    page = tree.read(PAGE)
    assert f"`acceptance/toy`, commit `{tree.git('rev-parse', 'HEAD')[:12]}`, {line['date']}; " in page
    assert f"{line['machine']['processor']}, {line['machine']['cores']} core" in page


def test_pages_criteria_of_two_machines_name_them(tree):
    tree.run("--only", "toy")
    content = tree.document()
    content["lines"][1]["machine"] = {**content["lines"][1]["machine"], "processor": "Another one"}
    content["lines"][1]["date"] = "2031-01-02"
    tree.keep("toy", content)
    tree.run("--pages")
    page = tree.read(PAGE)
    assert "to 2031-01-02" in page
    assert "; Another one, " in page
    assert "| criterion | goal | measured | verdict | machine |" in page
    assert "| 9.25 % on average | **below target** | 2 |" in page


def test_pages_unmeasured_criterion_shows_its_goal(tree):
    tree.run("--only", "toy", "--budget", "0")
    page = tree.read(PAGE)
    assert "*Not run on this commit: `acceptance/toy`.*" in page
    assert "| second | at most 7 % |  | *not run on this commit* |" in page
    assert "commit `" not in page


def keep_demo(tree, paging=PAGING):
    """Keeps a demo and its picture as steps of the quick tier would."""
    tables = {"demo": {"title": "Class W", "rows": [DEMO]}}
    tree.keep("demo", {"class": "W", "paging": paging, "tables": tables})
    tree.keep("picture-report", {"file": "docs/pictures/report.png"})


def test_quick_readmes_block_is_replaced_in_place(tree):
    before = tree.read("README.md")
    keep_demo(tree)
    done = tree.run("--quick")
    assert done.returncode == 0, done.stderr
    after = tree.read("README.md")
    block = after.partition(BEGIN)[2].partition(END)[0]
    assert rest(after) == rest(before)
    assert "17 %" not in block
    for text in (
        "](docs/pictures/report.png)\n",
        "has 456 MB of data and is limited to 228 MB of memory. It is at least 5.1 times as fast",
        "| time | 2.3 s | 4.7 s | 24.1 s |",
        "CG in class W gains 99% of what fast memory for all would",
        "| CG | 5.3 MB (82%) | 5053.9 ms | 3100.0 ms | 2900.0 ms | 1750.2 ms | 1743.0 ms | 1720.7 ms | 1718.1 ms",
        f"`make results ARGS=--quick`, commit `{tree.git('rev-parse', 'HEAD')[:12]}`, ",
        "```console\n$ seq 3 | tac\n3\n2\n...\n```\n",
    ):
        assert text in block
    assert not (tree.root / "docs/results/index.md").exists()
    tree.run("--quick")
    assert tree.read("README.md") == after


@pytest.mark.parametrize(
    ("steps", "said"), [((), "demo, picture-report are not"), (("demo",), "remove it, and run as root")]
)
def test_quick_incomplete_block_leaves_the_readme(tree, steps, said):
    if steps:
        keep_demo(tree, paging=None)
    done = tree.run("--quick", "--only", "readme")
    assert done.returncode == 2
    assert said in done.stderr
    assert "17 %" in tree.read("README.md")


def test_quick_failed_command_leaves_the_readme(tree):
    tree.write("acceptance/results/templates/block.md", "{{ output 2 echo no such machine; false }}\n")
    tree.commit("Break a command")
    keep_demo(tree)
    done = tree.run("--quick")
    assert done.returncode == 1
    assert "ended with 1: no such machine" in done.stderr
    assert "17 %" in tree.read("README.md")


def test_quick_readme_without_markers_is_refused(tree):
    tree.write("README.md", "# Title\n")
    tree.commit("Drop the markers")
    keep_demo(tree)
    done = tree.run("--quick")
    assert done.returncode == 2
    assert "README.md has no lines '<!-- results: begin -->'" in done.stderr
    assert tree.read("README.md") == "# Title\n"


def test_pages_written_twice_are_equal(tree):
    tree.run("--only", "toy")
    tree.keep("demo", {"tables": {"demo": {"title": "CG and MG in class W", "rows": [DEMO]}}})

    def all_of_them():
        files = [*(tree.root / "docs").rglob("*"), tree.root / "README.md"]
        return {path: path.read_bytes() for path in files if path.is_file() and path.suffix == ".md"}

    tree.run("--pages")
    first = all_of_them()
    tree.run("--pages")
    assert all_of_them() == first
    assert {path.name for path in first} == {"toy.md", "index.md", "README.md"}


def test_pages_stale_page_is_removed(tree):
    tree.write("docs/results/old.md", "17 % faster\n")
    tree.run("--pages")
    assert not (tree.root / "docs/results/old.md").exists()


def test_pages_new_program_needs_no_template(tree):
    (tree.root / "acceptance/results/templates/toy.md").unlink()
    tree.commit("Drop the template")
    tree.run("--only", "toy")
    assert tree.read(PAGE).startswith("# toy\n\n`acceptance/toy`, commit")
    assert "- [toy](toy.md)" in tree.read("docs/results/index.md")


# --- views -------------------------------------------------------------------------------------------------------


def shown(tree, fill_in):
    """Renders a template with one placeholder."""
    tree.write("acceptance/results/templates/toy.md", f"# Toy\n\n{{{{ {fill_in} }}}}\n")
    done = tree.run("--pages", "--allow-dirty")
    assert done.returncode == 0, done.stderr
    return tree.read(PAGE)


@pytest.fixture
def experiment(tree):
    """Returns a tree with an experiment's table."""
    tree.write("python/terrace/verbs/lab/experiment/two_sizes.py", "")
    tree.write("acceptance/results/templates/other.md", "# Other\n\n{{ table two-sizes-W managed }}\n")
    rows = [
        {
            "workload": "cg",
            "machine": "a",
            "size": "1/4",
            "loop_s": 0.5,
            "gap": 0.25,
            "part": -0.125,
            "share": None,
        },
        {"workload": "mg", "machine": "b", "size": "1/4", "loop_s": 1.5, "gap": 0.5, "part": 0.25, "share": 0.5},
    ]
    content = {"dirty": True, "tables": {"managed": {"title": "Every column", "rows": rows}}}
    tree.keep("two-sizes-W", content)
    tree.move_to_dirty()
    return tree


def test_experiment_table_has_requested_columns(experiment):
    page = shown(experiment, "table two-sizes-W managed workload,loop_s,gap,part%,share machine=b size=1/4")
    assert "Every column (b, 1/4): `make two-sizes-W`, commit `" in page
    assert "| workload | loop, ms | gap | part | share |\n| --- | --- | --- | --- | --- |\n" in page
    assert "| mg | 1500.00 | +50.0% | +25.0% | 50.0% |\n" in page
    assert "cg" not in page
    assert "| cg | a | 1/4 | 500.00 | +25.0% | -0.12 |  |" in experiment.read("docs/results/other.md")


def test_an_experiment_of_which_a_page_shows_a_table_is_a_step(experiment):
    listed = experiment.run("--list", "--allow-dirty").stdout
    assert "two-sizes-W " in listed
    assert "terrace lab experiment two-sizes --class W" in listed
    assert "two-sizes-S" not in listed


def test_benchmarks(tree):
    tree.write("bench/pim/pim_bench.cpp", "")
    tree.write("bench/runtime/runtime_bench.cpp", "")
    tree.commit("Add benchmarks")
    figure = {"section": "full array", "measure": "new total", "unit": "ns", "threads": 1, "samples": []}
    rows = [
        {**figure, "series": "1 MiB", "contender": "terrace", "median": 340e3, "low": 330e3, "high": 1.5e6},
        {**figure, "series": "1 MiB", "contender": "glibc", "median": 2.3e6, "low": 2e6, "high": 2.6e6},
        {**figure, "series": "8 B", "contender": "glibc", "median": 9.0, "low": 8.0, "high": 10.0},
        {**figure, "series": "8 B", "contender": "glibc", "measure": "total", "median": 1, "low": 1, "high": 1},
    ]
    timed = {
        "name": "plan/50/100",
        "cpu_time": 47.123,
        "real_time": 50.0,
        "time_unit": "ms",
        "iterations": 3,
        "cells": 800.0,
    }
    for step, found in (("pim_bench", rows), ("runtime_bench", [timed])):
        tree.keep(step, {"dirty": True, "benchmarks": found})
    tree.move_to_dirty()
    page = shown(tree, "contenders pim_bench new-total full array")
    assert "|  | threads | terrace | glibc |" in page
    assert "| 1 MiB | 1 | 340 us (330 us to 1.5 ms) | 2.3 ms (2 ms to 2.6 ms) |" in page
    assert "| 8 B | 1 |  | 9 ns (8 ns to 10 ns) |" in page
    assert "| `plan/50/100` | 47.12 ms | cells 800 |" in shown(tree, "benchmark runtime_bench")


def test_finding_has_figures_of_a_criterion(tree):
    tree.run("--only", "toy")
    asked = "finding toy | second | {mean} % on average | The mean error is {mean} %."
    tree.write("acceptance/results/templates/toy.md", f"# Toy\n\n{{{{ {asked} }}}}\n")
    assert "The mean error is 9.25 %." in written(tree)
    tree.write(
        "acceptance/results/templates/toy.md", "# Toy\n\n{{ finding toy | first | {all} of none | {all} }}\n"
    )
    assert "first: 4 of 5." in written(tree)


def written(tree):
    """Returns the page as it is written from the documents of the last commit."""
    done = tree.run("--of", tree.git("rev-parse", "HEAD")[:12] + ":toy")
    assert done.returncode == 0, done.stderr
    return tree.read(PAGE)


def test_finding_has_figures_of_a_row(experiment):
    page = shown(experiment, "finding two-sizes-W | managed | workload=mg | {workload} takes {loop_s:.2f} s.")
    assert "mg takes 1.50 s." in page
    assert "Not run" in shown(experiment, "finding two-sizes-W | managed | workload=lu | {loop_s}")


def test_dots_have_one_row_for_each_label(experiment):
    asked = (
        "dots two-sizes-W | sizes | managed | workload,size=1/4 | loop_s as loop,gap/loop_s as ratio | Title < 1"
    )
    assert "![Title < 1](pictures/sizes.svg)" in shown(experiment, asked)
    picture = ElementTree.fromstring(experiment.read("docs/results/pictures/sizes.svg"))
    found = [(each.get("cx"), each.get("cy")) for each in picture.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(found) == 2 + 2 * 2  # legend; two rows of two series
    at = {name: float(x) for name, (x, _) in zip(("cg", "cg ratio", "mg", "mg ratio"), found[2:], strict=True)}
    assert at["cg"] == at["cg ratio"]  # 0.5 s, and 0.25 / 0.5
    assert at["mg ratio"] < at["cg"] < at["mg"]
    assert "Not run" in shown(experiment, "dots two-sizes-W | sizes | managed | size=2 | loop_s | None")
    assert not (experiment.root / "docs/results/pictures/sizes.svg").exists()


def test_one_page_of_another_commit_leaves_the_others(tree):
    tree.run("--only", "toy")
    tree.write("docs/results/other.md", "as it was\n")
    assert tree.run("--of", tree.git("rev-parse", "HEAD")[:12] + ":toy").returncode == 0
    assert tree.read("docs/results/other.md") == "as it was\n"
    done = tree.run("--of", tree.git("rev-parse", "HEAD")[:12] + ":none")
    assert done.returncode == 2
    assert "there is no page none; there are" in done.stderr


def test_a_picture_of_another_commit_is_not_shown(tree):
    tree.write("docs/pictures/report.png", "an old one")
    assert "*Not run on this commit: `scripts/picture.py report.html" in shown(tree, "picture report ..")
    tree.git("checkout", "-q", "--", "acceptance")
    tree.keep("picture-report", {"file": "docs/pictures/report.png", "dirty": True})
    tree.keep("demo", {"class": "S", "dirty": True, "tables": {"demo": {"title": "", "rows": [DEMO]}}})
    tree.write("acceptance/results/templates/toy.md", "# Toy\n\n{{ picture report .. }}\n")
    tree.move_to_dirty()
    tree.run("--pages", "--allow-dirty")
    assert "CG in class S, and slow memory" in tree.read(PAGE)  # the class that the demo had
    assert "](../pictures/report.png)" in tree.read(PAGE)


# --- the templates that are shipped ------------------------------------------------------------------------------


def prose(text):
    """Returns the text without code, link targets, and placeholders."""
    for pattern in (r"^\{\{ .* \}\}$", r"^    .*$", r"`[^`]*`", r"\]\([^)]*\)"):
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    return text


def test_templates_prose_has_no_figures():
    assert prose("a `9`\n{{ table x-9 }}\n    9\n[b](9.md) 8\n").split() == ["a", "[b", "8"]
    for name, text in texts(ROOT).items():
        assert not re.findall(r"\d", prose(text)), f"{name}: {re.findall(r'.*[0-9].*', prose(text))}"


def test_templates_every_placeholder_can_be_rendered():
    steps = {step.name for step in all_steps(ROOT)}
    views = {path.stem for path in (ROOT / "acceptance/results/views").glob("*.py")} - {"__init__"}
    for text in texts(ROOT).values():
        for fill_in in re.findall(r"^\{\{ (.*) \}\}$", text, re.MULTILINE):
            view, *words = fill_in.split()
            assert view in views
            if view in ("lines", "table", "benchmark", "contenders", "finding", "dots"):
                assert words[0] in steps, fill_in
            if view == "picture":
                assert f"picture-{words[0]}" in steps


def test_every_page_is_made():
    """And committed: none is kept by hand."""
    listed = subprocess.run(
        ["git", "ls-files", "docs/results"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pages = {Path(name).stem for name in listed.stdout.split() if name.endswith(".md")}
    templates = set(texts(ROOT)) - {"block"}
    assert templates <= pages
    # An acceptance program has its page without a template.
    assert pages - templates <= {step.name for step in all_steps(ROOT) if step.has_criteria}


def test_readme_is_short():
    text = (ROOT / "README.md").read_text()
    assert BEGIN in text and END in text
    assert len(text.splitlines()) <= 150
