"""Parsing and formatting of sizes, times and rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terrace import _core, units
from terrace.errors import WrongCallError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64MiB", 64 << 20),
        ("1.5GiB", 3 << 29),
        ("200MB", 200_000_000),
        ("4096", 4096),
        ("4096B", 4096),
        ("1 TiB", 1 << 40),
    ],
)
def test_parse_size_reads_sizes(text, count):
    assert units.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "MiB", "-1", "5 parsecs", "1e9", "64MiB2"])
def test_parse_size_refuses_other_texts(text):
    with pytest.raises(WrongCallError, match="is not a size"):
        units.parse_size(text)


@given(st.integers(min_value=0, max_value=(1 << 64) - 1))
def test_exact_size_round_trips(count):
    assert units.parse_size(_core.format_size(count)) == count


def test_budget_has_a_canonical_form():
    assert units.budget("hbm=1000000,ddr=1024MiB") == "hbm=1MB,ddr=1GiB"
    assert units.budget("1000000") == "1MB"
    with pytest.raises(WrongCallError, match="is not a size"):
        units.budget("hbm=lots")


@given(st.integers(min_value=0, max_value=1 << 50))
def test_printed_size_is_within_half_a_percent(count):
    assert units.parse_size(units.size(count)) == pytest.approx(count, rel=0.006)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"),
        (250e-12, "250ps"),
        (86e-9, "86ns"),
        (1.24, "1.24s"),
        (0.0172, "17.2ms"),
        (0.9999, "1s"),
        (123.4, "123s"),
        (-2e-3, "-2ms"),
    ],
)
def test_seconds_are_formatted(value, text):
    assert units.seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(16e9, "16GB/s"), (15.36e9, "15.4GB/s"), (2e6, "2MB/s")])
def test_rates_are_formatted(value, text):
    assert units.rate(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.125, "12.5 %"), (-0.125, "-12.5 %"), (-1e-5, "0.0 %"), (0, "0.0 %")]
)
def test_percent_of_tiny_share_has_no_sign(share, text):
    assert units.percent(share) == text
