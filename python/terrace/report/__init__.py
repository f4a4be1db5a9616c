# SPDX-License-Identifier: Apache-2.0
"""Draws the report pages and charts of a run."""
