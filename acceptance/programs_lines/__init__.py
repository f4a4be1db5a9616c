"""Criteria of `acceptance/programs` on unmodified programs: output, cost, out-of-core memory, guests."""

ORDER = ("cost", "arrays", "watched", "over_file", "predicted", "wrong_plan", "references", "small", "launch")
OPTIONS = {
    "--disk-folder": {"default": "/var/tmp", "help": "where files, swap and data are (/var/tmp)"},
    "--turns": {"type": int, "default": 7, "help": "runs of each way, interleaved; medians count (7)"},
    "--program": {"default": "", "help": "only programs whose name contains this"},
    "--size": {"type": float, "default": 1.0, "help": "of the programs' inputs, as a share (1)"},
}


def finish() -> None:
    """Removes the programs' inputs."""
    from programs_lines.cases import remove_inputs

    remove_inputs()
