"""`scripts/others`: public programs that nobody here wrote: fetched, built natively and with the wrappers, run.

recipe    what a file of acceptance/others_programs says
fetch     archives, from Debian's mirrors, the Python package index and public repositories
inputs    what programs read, made with fixed seeds: a file each kind
build     a tree for each way: native, hooked
execute   runs, and whether the results are right
cost      what a run costs natively, with idle hooks, simulated, recorded
clock     virtual time against the clock
placed    its virtual time with data placed in several ways
loops     the loop that was found against the one that the recipe states
command   the command line
"""
