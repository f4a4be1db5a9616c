# SPDX-License-Identifier: Apache-2.0
"""Converts measurements of other tools into profiles: one parser per format, and `measured` writes."""
