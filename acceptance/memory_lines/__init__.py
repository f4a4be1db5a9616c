"""Criteria of `acceptance/memory` on real memory: allocation by intent, out-of-core memory, faults, kills."""

ORDER = ("allocation_cost", "over_file", "faults")
OPTIONS = {
    "--disk-folder": {"default": "/var/tmp", "help": "where files and swap are (/var/tmp)"},
    "--turns": {"type": int, "default": 3, "help": "runs of each way, interleaved; the median counts"},
    "--patience": {"type": float, "default": 15, "help": "a run is stopped after so many times what Terrace took"},
    "--case": {"default": "", "help": "only the cases whose name contains this"},
}
