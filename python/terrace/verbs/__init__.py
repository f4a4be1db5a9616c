# SPDX-License-Identifier: Apache-2.0
"""The subcommands, one module each. They are found by listing this folder: to add one, add a file here.

The file's name is the subcommand's, with `_` for `-`. Its first line gives the summary after the subcommand's name
and a colon: the launcher and the help print it. Its `register` adds the subcommand to a Typer application. A
folder is a group of subcommands; the first line of its `__init__.py` gives its summary.
"""
