# SPDX-License-Identifier: Apache-2.0
"""Generates the command-line page, man pages and completions for three shells from `terrace --describe`."""
