"""Terrace's analysis: the verbs show, bounds, plan, report, export and lab, and what they are made of.

Numerics live in the C++ module `terrace._core`; here is what reads stores, arranges and draws. Each room uses only
those before it (scripts/rooms.py checks that):

    errors -> units -> output -> store -> solve -> report -> lab -> verbs -> cli -> __main__

store   a profile store as values
solve   what the model says of a profile: prices, bounds, optima, confidence
report  pages and pictures
lab     studies that run many programs, traces, experiments
verbs   the command line, a module each
"""
