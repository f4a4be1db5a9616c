"""`scripts/others`: fetches, builds (natively and with the wrappers) and runs third-party public programs.

recipe    the content of a file of acceptance/others_programs
fetch     archives, from Debian's mirrors, the Python package index and public repositories
inputs    generators of input files with fixed seeds: a module for each kind
build     a tree for each way: native, hooked
execute   runs, and whether the results are right
cost      times of a run natively, with idle hooks, simulated, recorded
clock     virtual time against the clock
placed    its virtual time with data placed in several ways
loops     the loop that was found against the one that the recipe states
command   the command line
"""
