/* torture: stresses libraries inside a process: allocation, signals, threads, fork, dlopen. Each part prints the same
 * lines every time; main exits with status 42. */
#ifndef TORTURE_H
#define TORTURE_H

void test_atomics(void);
void test_threads(void);
void test_signals(void);
void test_jumps(void);
void test_processes(void);
void test_libraries(void);
void test_allocation(void);

/* What the program does when it is started as its own child: see processes.c. */
int run_as_child(int argc, char** argv);

/* Prints "ok WHAT", or "FAILED WHAT" and makes the exit status 1. */
void check(int condition, const char* what);

#endif
