"""Terrace's analysis: what the verbs show, bounds, plan, report, export and lab do.

Numerics live in the C++ module `terrace._core`; here is what reads stores, arranges and draws.
"""
