# SPDX-License-Identifier: Apache-2.0
"""Entry point of `python -m terrace SUBCOMMAND ...`, which the launcher executes for the analysis subcommands."""

from terrace.cli import main

if __name__ == "__main__":
    main()
