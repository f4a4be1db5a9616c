# SPDX-License-Identifier: Apache-2.0
"""Reproduces published studies: the work of `terrace lab experiment`."""
