"""`terrace report`: one well-formed page without external references, with the right contents."""

import base64
import gzip
import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import charts_of
from plotly.offline import get_plotlyjs
from terrace import units
from terrace.report import charts
from terrace.report import page as page_module
from terrace.report.facts import Facts
from terrace.report.page import render
from terrace.solve.model import CurvePoint, Pricing
from terrace.store.reader import Store
from terrace.verbs.report import gather

VOID = {"meta", "br", "img", "hr", "input", "link"}


class Page(HTMLParser):
    """Checks that elements nest, and collects references."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.references, self.charts, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            self.ids.append(named["id"])
        self.references += [named[key] for key in ("src", "href", "xlink:href", "data", "action") if key in named]
        if named.get("role") == "img":
            self.charts.append((named["id"], named["aria-label"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(html):
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page


def without_library(html):
    """Returns the page without plotly.js."""
    begin, _, rest = html.partition('<script type="text/plain" id="plotly">')
    return begin + rest.partition("</script>")[2]


@pytest.fixture(scope="module", params=[4001, 4002], ids=["placed", "killed"])
def html(request, store_path):
    return render(gather(store_path, request.param))


def test_page_is_self_contained(html):
    page = parse(html)
    assert page.references == []
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in without_library(html)
    assert len(page.ids) == len(set(page.ids))


def test_page_draws_with_plotly(html):
    packed = re.search(r'<script type="text/plain" id="plotly">([^<]*)</script>', html)[1]
    assert gzip.decompress(base64.b64decode(packed)).decode() == get_plotlyjs()
    assert len(html) < 2_300_000


def test_charts_have_text_and_colours(html):
    charts = charts_of(html)
    assert list(charts) == ["curve", "heat", "benefit", "timeline", "machine"]
    assert [name for name, _ in parse(html).charts] == list(charts)
    assert all(words for _, words in parse(html).charts)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", html))
    assert used >= {"--ink", "--fast", "--slow"}
    for name in used:  # each has a light value and a dark one
        assert len(re.findall(rf"{name}: #", style)) == 2


def test_curve_equals_pricing(store_path):
    facts = gather(store_path)
    drawn = {trace["name"]: trace for trace in charts_of(render(facts))["curve"]["data"]}
    assert drawn["planned"]["x"] == [point.size for point in facts.pricing.curve]
    assert drawn["planned"]["y"] == [point.predicted for point in facts.pricing.curve]
    assert drawn["lower bound"]["y"] == [point.lower_bound for point in facts.pricing.curve]


def test_curve_names_the_command_of_thorough_decisions(html):
    below = html.partition('data-chart="curve"')[2].partition("</section>")[0]
    assert "The points are quick decisions" in below and "<code>terrace plan --sweep</code>" in below


def test_timeline_has_every_phase_and_move(store_path):
    facts = gather(store_path)
    drawn = {trace["name"]: trace for trace in charts_of(render(facts))["timeline"]["data"]}
    shown = [i for i in facts.instances if i.iteration < 4]
    start = min(i.begun for i in shown)
    assert drawn["phases"]["base"] == [i.begun - start for i in shown]
    into = {m.object for m in facts.moves if facts.is_fast(m.target) and not m.refused}
    assert len(set(drawn["into fast memory"]["y"])) == len(into)


def test_numbers_are_formatted(html):
    text = " ".join(parse(without_library(html)).text)
    assert not re.search(r"\b(nan|NaN|inf|Infinity|None)\b", text)


def test_names_are_escaped(store_path):
    facts = gather(store_path)
    object.__setattr__(facts.profile.objects[0], "name", "<b>&\"'")
    page = parse(render(facts))
    assert "b" not in page.open
    assert any("<b>&" in text for text in page.text)
    drawn = json.dumps(charts_of(render(facts)))
    assert "&lt;b&gt;" in drawn  # Plotly takes a text for HTML
    assert "<b>" not in drawn


def test_every_move_is_listed(store_path):
    html = render(gather(store_path))
    moves = html.split("Completed moves")[1].split("</table>")[0]
    assert moves.count("<tr>") == 1 + 12
    assert "waits for" not in moves


def test_plan_without_prediction_shows_none(store_path):
    facts = gather(store_path)
    assert facts.plan is not None
    assert "measured; predicted" in render(facts)
    object.__setattr__(facts.plan, "predicted", 0.0)
    assert "measured; predicted" not in render(facts)


def facts_with(store_path: Path, curve: list[CurvePoint], slow: float, fast: float) -> Facts:
    facts = gather(store_path)
    facts.pricing = Pricing(slow, fast, facts.pricing.benefits, curve, "auto", None, None)
    return facts


def test_headline_equals_figures(store_path):
    mib = 1 << 20
    size = gather(store_path).footprint
    curve = [CurvePoint(8 * mib, 8.0), CurvePoint(16 * mib, 2.8), CurvePoint(size, 2.0)]
    facts = facts_with(store_path, curve, 10.0, 2.0)
    assert size == 92 * mib
    assert facts.sentence == (
        "A part of the data gains most from fast memory: 16MiB of it, for 17 % of the data, saves 90 % of "
        "what fast memory for all data would save."
    )
    curve[1] = CurvePoint(16 * mib, 2.9)
    facts = facts_with(store_path, curve, 10.0, 2.0)
    assert facts.sentence.startswith("All of the data gain from fast memory: 16MiB of it")
    facts = facts_with(store_path, curve, 10.0, 9.95)
    assert facts.sentence.startswith("No placement can gain much")


def test_report_writes_the_page(terrace, store_path, tmp_path):
    target = tmp_path / "page.html"
    done = terrace("report", store_path, "-o", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(target)
    parse(target.read_text())


def test_run_that_followed_a_plan_is_shown_without_profile(terrace, store_path, tmp_path):
    """The plan's execution is known; costs of objects are unknown and have no section."""
    path, target = tmp_path / "obeyed.terrace", tmp_path / "page.html"
    path.write_bytes(store_path.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM iteration")
        connection.execute("UPDATE run SET planner = 'plan'")
    done = terrace("report", path, "-o", target)
    assert done.returncode == 0, done.stderr
    page = parse(target.read_text())
    assert set(charts_of(target.read_text())) == {"timeline", "machine"}
    text = "".join(page.text)
    moved = sum(move.size for move in Store(path).moves(Store(path).run()) if not move.refused)
    assert f"This run followed a given plan and moved {units.size(moved)}." in text
    (plan,) = Store(path).plans(Store(path).run())
    assert f"{units.seconds(plan.predicted_slow)} predicted for slow memory alone." in text
    assert "per iteration, by the plan" in text


@pytest.mark.parametrize(
    ("mode", "planner", "says"),
    [("record", "auto", "This is a recording"), ("simulate", "slow-only", "no plan (planner slow-only)")],
)
def test_plan_text_run_without_plan_says_why(mode, planner, says):
    run = SimpleNamespace(mode=mode, planner=planner)
    assert says in page_module._plan_text(SimpleNamespace(plan=None, run=run))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("main solver.cpp:12", "main solver.cpp:12"),
        ("Grid::allocate_all_levels solver.cpp:141", "Grid::allocate… solver.cpp:141"),
        ("a_variable_with_a_long_name_in_a_file", "a_variable_wit…_name_in_a_file"),
    ],
)
def test_long_label_keeps_file_and_line(name, label):
    assert charts.shortened(name, 30) == label
    assert len(label) <= 30
