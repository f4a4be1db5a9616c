# The small programs of several files, built with the plain compilers.
terrace_test(programs_test SOURCES programs_test.cpp DEPENDS LABELS integration TIMEOUT 900)
