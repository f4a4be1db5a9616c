# SPDX-License-Identifier: Apache-2.0
"""Libraries of the `terrace lab` subcommands: studies, traces, experiments."""
