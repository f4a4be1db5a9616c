# SPDX-License-Identifier: Apache-2.0
"""Reads profile stores into dataclasses."""
