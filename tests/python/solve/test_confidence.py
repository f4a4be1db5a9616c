"""Certainty of ranks and plans: closed forms against printed values, exact counts against stated intervals."""

import csv
import io
import json
import shutil
import sqlite3

import numpy as np
import pytest
from conftest import BUILD
from scipy import stats
from terrace import _core
from terrace.lab.study import run_terrace
from terrace.solve import confidence
from terrace.solve.lower_bounds import bound_of_profile
from terrace.solve.model import Model
from terrace.store.reader import Store
from terrace.store.variation import relative_errors

_DRAWS = confidence.BENEFIT_DRAWS


def test_variation_between_iterations_exceeds_chance():
    """Draws 10,000 profiles of four iterations, whose objects are met by Poisson counts: one with the same mean in
    each, one whose mean is twice as large in half of them."""
    rng = np.random.default_rng(1)
    weights = np.full(4, 0.25)
    same = rng.poisson(100.0, (10_000, 4)).astype(float)
    other = rng.poisson(100.0 * rng.choice([1.0, 2.0], (10_000, 4))).astype(float)
    of_same = relative_errors(same, same, weights)
    of_other = relative_errors(other, other, weights)
    assert np.median(of_same) < 0.03  # of 100, 10 are chance, and 5 for the mean of four
    # Half of the difference is the standard deviation, and half of that its mean's.
    assert np.sqrt(np.mean(np.square(of_other))) == pytest.approx(25 / 150, rel=0.1)


def test_intervals_widen_with_variation():
    assert confidence._widened(10.0, (9.0, 11.0), 0.0, 3) == (9.0, 11.0)
    low, high = confidence._widened(10.0, (9.0, 12.0), 1.0, 3)
    more = stats.t.ppf(0.95, 3)
    assert (10 - low, high - 10) == pytest.approx((np.hypot(1, more), np.hypot(2, more)))
    assert confidence._widened(1.0, (0.5, 1.5), 1.0, 1)[0] == 0.0  # no benefit is below that


@pytest.fixture(scope="module")
def two_counts(store_path, tmp_path_factory):
    """Returns the synthetic job with `index` and `u` only, with 30 and 22 time samples in one phase."""
    path = tmp_path_factory.mktemp("two") / "two.terrace"
    shutil.copy(store_path, path)
    with sqlite3.connect(path) as database:
        (run,) = database.execute("SELECT id FROM run WHERE process = 4001").fetchone()
        chunks = dict(database.execute("SELECT name, first_chunk FROM object WHERE run = ?", (run,)))
        iterations = "(SELECT id FROM iteration WHERE run = ? AND NOT exact)"
        kept = database.execute(f"SELECT min(id) FROM ({iterations[1:-1]})", (run,)).fetchone()[0]
        database.execute(f"DELETE FROM cell WHERE iteration IN {iterations}", (run,))
        database.execute("DELETE FROM iteration WHERE run = ? AND NOT exact AND id != ?", (run, kept))
        # Memory is no limit, time is: every sample is worth the same.
        database.execute("UPDATE phase SET time = 1, core = 1e-3, samples = 1000 WHERE iteration = ?", (kept,))
        database.execute("UPDATE phase SET samples_with_access = 52 WHERE iteration = ? AND phase = 0", (kept,))
        database.executemany(
            "INSERT INTO cell VALUES(?, 0, ?, 1, 0, ?, ?, 1, 0, 0)",
            [(kept, chunks["index"], 300.0, 30), (kept, chunks["u"], 220.0, 22)],
        )
    return path


def test_swap_probability_equals_skellam(terrace, two_counts):
    document = json.loads(terrace("show", two_counts, "--json").stdout)
    first, second = (next(o for o in document["objects"] if o["name"] == name) for name in ("index", "u"))
    assert (first["rank"], second["rank"]) == (1, 2)
    assert first["may_swap_with"] == "u"
    assert second["may_swap_with"] == "index"
    # Counts that were met k and l times again: the difference of two Poissons. Given that they were, of the truth:
    # Gamma(k) < Gamma(l), a beta distribution. They differ by less than the draws show.
    skellam = stats.skellam.cdf(-1, 30, 22) + stats.skellam.pmf(0, 30, 22) / 2
    exact = stats.beta.sf(0.5, 22, 30)
    assert skellam == pytest.approx(exact, abs=0.01)
    error = 4 * np.sqrt(exact * (1 - exact) / _DRAWS)
    assert first["swap_probability"] == pytest.approx(skellam, abs=error)
    assert second["swap_probability"] == first["swap_probability"]
    shown = terrace("show", two_counts).stdout
    assert f"1, may swap with u (p = {first['swap_probability']:.2f})" in shown
    # 90 % of Gamma(30), of which 1,000 samples make little of a difference.
    for end, share in (("benefit_low_s", 0.05), ("benefit_high_s", 0.95)):
        assert first[end] / first["benefit_s"] == pytest.approx(stats.gamma.ppf(share, 30) / 30, rel=0.05)


def test_exports_and_pages_have_equal_figures(terrace, two_counts, tmp_path):
    shown = {o["name"]: o for o in json.loads(terrace("show", two_counts, "--json").stdout)["objects"]}
    words = ("export", two_counts, "--format", "csv", "--table", "benefit")
    rows = [row for row in csv.DictReader(io.StringIO(terrace(*words).stdout)) if row["exact"] == "0"]
    assert [row["object"] for row in rows if row["process"] == "4001"] == ["u", "index"]
    for row in rows[:2]:
        for key in ("benefit_s", "benefit_low_s", "benefit_high_s", "swap_probability"):
            assert float(row[key]) == shown[row["object"]][key]
    exported = json.loads(terrace("export", two_counts, "--format", "json").stdout)["benefits"]
    assert exported[0]["benefit_s"] == float(rows[0]["benefit_s"])
    page = tmp_path / "page.html"
    assert terrace("report", two_counts, "-o", page).returncode == 0
    assert f"1, may swap with u (p = {shown['index']['swap_probability']:.2f})" in page.read_text()


def test_exact_profile_is_certain(terrace, store_path):
    document = json.loads(terrace("show", store_path, "--exact", "--json").stdout)
    ranked = [o for o in document["objects"] if o["rank"] is not None]
    assert ranked
    for item in ranked:
        assert item["benefit_low_s"] == pytest.approx(item["benefit_s"], rel=1e-12)
        assert item["benefit_high_s"] == pytest.approx(item["benefit_s"], rel=1e-12)
        assert item["may_swap_with"] is None
    plan = json.loads(terrace("plan", store_path, "--fast", "24MiB", "--exact", "--json").stdout)
    assert plan["confidence"]["regret_s"] == plan["confidence"]["regret_high_s"] == 0
    assert {c for o in plan["objects"] for c in o["confidences"]} == {1.0}
    assert plan["confidence"]["may_swap"] == []


def test_plan_states_its_certainty(terrace, store_path, tmp_path):
    target = tmp_path / "plan.toml"
    words = ("plan", store_path, "--fast", "24MiB", "--confidence", 10, "-o", target)
    shown = " ".join(terrace(*words).stdout.split())
    assert "Sampling error costs" in shown
    assert "Certain: " in shown
    read = _core.Plan.read(str(target))
    assert read.draws == 10
    assert all(0 <= c <= 1 for item in read.objects for c in item["confidences"])
    text = target.read_text()
    assert terrace(*words).returncode == 0
    assert target.read_text() == text, "the same draws every time"
    regret = confidence.sampling_regret(Store(store_path), "24MiB", draws=10)
    assert (regret.seconds, regret.low, regret.high) == pytest.approx(tuple(read.regret))
    assert regret.predicted == read.predicted


def test_regret_of_draws_is_limited_by_the_bound(store_path):
    model = Model(Store(store_path), Store(store_path).run())
    problem = model.problem(model.budget("24MiB"))
    sure = model.sure_plan(problem, "auto", 10)
    times, regrets = np.array(sure.times), np.array(sure.regrets)
    assert regrets.max() > 0
    bound = float(times[regrets.argmax()] - regrets.max() / 2)
    sure.limit_regrets(bound)
    limited = np.minimum(regrets, np.maximum(times - bound, 0.0))
    assert sure.regrets == pytest.approx(list(limited))
    assert sure.plan.regret[0] == pytest.approx(limited.mean()), "the plan says what is left"
    sure.limit_regrets(0.0)
    assert sure.regrets == pytest.approx(list(limited)), "no bound is known"


def test_without_draws_nothing_is_stated(terrace, store_path, tmp_path):
    target = tmp_path / "plan.toml"
    done = terrace("plan", store_path, "--fast", "24MiB", "--confidence", 0, "-o", target)
    assert "Sampling error" not in done.stdout
    assert "draws" not in target.read_text()
    assert "confidence" not in target.read_text()
    assert json.loads(terrace("plan", store_path, "--confidence", 0, "--json").stdout)["confidence"] is None
    assert terrace("plan", store_path, "--confidence", -1).returncode == 2


def record_with_truth(name, folder, *options):
    """Records class S exactly and by the samples whose errors intervals know of; no interval has what
    `load-sampling` gets wrong where it spreads prefetched lines (docs/design/roadmap.md)."""
    path = folder / f"{name}.terrace"
    program = BUILD / "tests" / "integration" / "hooked" / name
    words = ["record", "--quiet", "--exact", "--collector", "simulated-sampling", "--machine", "unimem-lat4@ideal"]
    words += ["--cache", "l2=16KiB", "l3=60KiB", *options]
    words += ["--output", path, "--", program, "--class", "S"]
    run_terrace(words)
    return path


@pytest.fixture(scope="module", params=["cg", "mg"])
def recorded(request, tmp_path_factory):
    """Returns the recording at the collector's own sampling period."""
    return record_with_truth(request.param, tmp_path_factory.mktemp("recorded"))


def test_exact_bound_excludes_sampling_overhead(recorded):
    """Every iteration is observed and pays for its samples; the profile's times and the bound do not."""
    store = Store(recorded)
    run = store.run()
    model = Model(store, run, exact=True)
    overhead = sum(one.ended - one.begun for one in store.phase_instances(run))
    assert overhead > 1.001 * sum(model.problem().measured) * len(store.profiled_iterations(run, exact=True))
    bound = bound_of_profile(model.problem(), 1.0, store, run, model.budget(None))
    assert bound.share == pytest.approx(1, abs=0.02)


def test_quick_decisions_are_near_thorough_ones(recorded):
    """The report's curve states quick decisions. At 15 sizes, they took up to 1.9 % more (cg; mg:
    1.3), where moves are cheap."""
    store = Store(recorded)
    model = Model(store, store.run())
    sizes = [int(share * model.profile.footprint) for share in (0.1, 0.25, 0.5)]
    quick, thorough = (
        [point.predicted for point in model.curve(sizes, "auto", quick=effort)] for effort in (True, False)
    )
    for hasty, best in zip(quick, thorough, strict=True):
        assert 0.999 * best <= hasty <= 1.02 * best


def test_intervals_cover_exact_counts(recorded):
    stored = _core.Store(str(recorded))
    run = stored.runs()[0].id
    machine = stored.machine(run)
    estimate, truth = (
        _core.Problem(stored.profile(run, exact).only(0), machine, [], True, 1 << 20) for exact in (False, True)
    )
    exposed, exact = _exposures(estimate), _exposures(truth)
    drawn = np.array([_exposures(_core.draw(estimate, number)) for number in range(100)])
    met = exposed > 0
    low, high = np.quantile(drawn, (0.05, 0.95), axis=0)
    held = ((exact >= low) & (exact <= high))[met]
    assert held.size > 100
    # Stratified samples do better than what is stated, or as well: never worse than by chance.
    assert held.mean() >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / held.size)


def _exposures(problem):
    """Returns exposed latencies, [phase, object]."""
    document = json.loads(problem.to_json())
    result = np.zeros((len(document["phases"]), len(document["objects"])))
    for number, phase in enumerate(document["phases"]):
        for cell in phase["cells"]:
            result[number, document["items"][int(cell[0])]["object"]] += cell[3]
    return result


# Limits of the test below. The intervals begin at 0 and end at the 90 % quantile, so 7 of 8 budgets should hold,
# and the sum of the real regrets should not exceed that of the upper ends. At twelve sampling distances of 850 to
# 1150 cycles, 84 of cg's 96 intervals held, 66 of mg's, and the sums' ratio was 0.82 and 0.60. A single distance
# says little: cg's ratio is 0.54 to 1.26, depending on where the samples happen to fall.
_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
_HELD = {"cg": 7, "mg": 4}  # of 8, on average over the distances
_OVER = {"cg": 0.90, "mg": 0.65}  # sum of the true regrets over that of the upper ends
_MAX = 0.01  # of the predicted time
_DISTANCES = {"cg": (None, 900, 1100), "mg": (None, 900, 950, 1050, 1100)}  # cycles; None: the collector's own


# mg is recorded at five sampling distances.
@pytest.mark.parametrize("recorded", ["cg", pytest.param("mg", marks=pytest.mark.soak)], indirect=True)
def test_true_regret_is_near_the_stated_one(recorded, tmp_path):
    real = high = predicted = 0.0
    held = 0
    distances = _DISTANCES[recorded.stem]
    for distance in distances:
        path = (
            recorded if distance is None else record_with_truth(recorded.stem, tmp_path, "--sample", str(distance))
        )
        stored = _core.Store(str(path))
        run = stored.runs()[0].id
        machine, calibration = stored.machine(run), stored.calibration(run)
        footprint = stored.profile(run).footprint
        profiles = [stored.profile(run, exact).only(0) for exact in (False, True)]
        for share in _SHARES:
            budget = machine.fast_budget(int(share * footprint))
            estimate, truth = (_core.Problem(profile, machine, budget, True, 1 << 20) for profile in profiles)
            sure = _core.sure_plan(estimate, "auto", calibration, 20)
            cost = _core.regret_under(estimate, truth, sure.decision, "auto", calibration)
            _, lowest, highest = sure.plan.regret  # as printed
            held += lowest <= cost <= highest
            assert lowest == 0
            real, high = real + cost, high + highest
            predicted += sure.plan.predicted
    assert held >= _HELD[recorded.stem] * len(distances)
    assert 0 < real <= _OVER[recorded.stem] * high
    assert high < _MAX * predicted, "an interval that says something"


def test_more_samples_increase_certainty(tmp_path):
    few = tmp_path / "few.terrace"
    program = BUILD / "tests" / "integration" / "hooked" / "mg"
    widths = []
    for cycles in (4000, 500):
        target = few.with_suffix(f".{cycles}.terrace")
        words = [
            "simulate",
            "--quiet",
            "--sample",
            str(cycles),
            "--machine",
            "unimem-lat4@ideal",
            "--fast",
            "300KiB",
        ]
        words += ["--collector", "simulated-sampling"]
        words += ["--cache", "l2=16KiB", "l3=60KiB", "--output", target, "--", program, "--class", "S"]
        run_terrace(words)
        store = Store(target)
        run = store.run()
        names = [item.name for item in store.profile(run).objects]
        found = [b for b in confidence.benefits(Model(store, run), names) if b.rank is not None]
        found.sort(key=lambda benefit: benefit.rank)
        widths.append(sum(b.high - b.low for b in found[:3]) / sum(b.seconds for b in found[:3]))
    assert widths[1] < widths[0]
