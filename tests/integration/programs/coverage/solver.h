/* Sweeps over `n` numbers and as many in its own block, `sweeps` times. */
#ifndef SOLVER_H
#define SOLVER_H
double solve(const double* values, long n, long sweeps);
#endif
