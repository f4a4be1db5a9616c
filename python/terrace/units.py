# SPDX-License-Identifier: Apache-2.0
"""Formats sizes, times and rates for people, in the same notation as the launcher. Used by all subcommands and
pages."""

from terrace import _core
from terrace.errors import core_errors

_IEC = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def _digits(value: float) -> str:
    """Formats with three significant digits, without an exponent and without trailing zeros."""
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(count: float) -> str:
    """Formats bytes in IEC units: "64MiB", "1.46GiB"."""
    for unit, name in _IEC:
        if abs(count) >= unit:
            return _digits(count / unit) + name
    return f"{count:.0f}B"


def seconds(value: float) -> str:
    """Formats seconds: "1.24s", "86ns". Prints "0s" below an attosecond, which is a rounding error."""
    if abs(value) < 1e-18:
        return "0s"
    for unit, name in _TIMES:
        if abs(value) >= unit * 0.9995:
            sign = "-" if value < 0 else ""
            return sign + _digits(abs(value) / unit) + name
    return f"{value:.3g}s"


def rate(value: float) -> str:
    """Formats bytes per second in SI units: "16GB/s"."""
    for unit, name in _RATES:
        if value >= unit * 0.9995:
            return _digits(value / unit) + name
    return f"{value:.3g}B/s"


def percent(share: float, decimals: int = 1) -> str:
    """Formats a fraction as a percentage: "12.5 %"."""
    return f"{round(100 * share, decimals) + 0.0:.{decimals}f} %"  # not "-0.0 %"


def count(value: float) -> str:
    """Formats a count: "950", "12.3k", "4.56M"."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit * 0.9995:
            return _digits(value / unit) + name
    return f"{value:.0f}"


def parse_size(text: str) -> int:
    """Parses "64MiB", "1.5GiB", "200MB" or "4096" as the launcher does. Raises WrongCallError."""
    with core_errors():
        return _core.parse_size(text.strip())


def budget(text: str) -> str:
    """Formats a budget as plan files do: "hbm=1MB" for "hbm=1000000"."""
    with core_errors():
        return _core.format_budget(text)
