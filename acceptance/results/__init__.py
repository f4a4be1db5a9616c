"""Makes the result pages (docs/results): their steps, the steps' documents, and the pages themselves. `make
results` runs it.

answers    of experiments that are not finished
version    which commit, machine and day a result belongs to
kept       the JSON documents of one commit, in docs/results/data/COMMIT
steps      what there is to run: demo, benchmarks, experiments, acceptance programs, pictures
runner     runs the steps whose documents are not there
pages      writes docs/results and the README's block, from the documents and the templates alone
views      what a template may ask for, a file each
dot_plot   draws the pictures of the pages' own data
"""
