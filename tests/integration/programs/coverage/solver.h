/* Sweeps over `n` numbers and as many of its own, `sweeps` times. */
#ifndef SOLVER_H
#define SOLVER_H
double solve(const double* values, long n, long sweeps);
#endif
