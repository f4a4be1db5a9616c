// SPDX-License-Identifier: Apache-2.0
// Declares the bookkeeping of the test programs: each counts its own calls of MPI, and the bytes of its messages,
// for comparison with those that the layer's listener saw. Thread-safe.
#ifndef TERRACE_TEST_CALLED_H
#define TERRACE_TEST_CALLED_H

// Calls MPI_NAME(...) and counts the call.
#define CALL(name, ...) (note_call(#name), check_result(#name, MPI_##name(__VA_ARGS__)))
// Calls MPI_NAME(...) and counts the call with the bytes that it sends and receives.
#define MOVE(name, sent, received, ...) \
  (note_bytes(#name, (long)(sent), (long)(received)), check_result(#name, MPI_##name(__VA_ARGS__)))

void note_call(const char* name);
void note_bytes(const char* name, long sent, long received);

// Ends the process with a message unless the result is 0 (MPI_SUCCESS).
int check_result(const char* name, int result);

// Writes `called.PID` in the folder TERRACE_MPI_COUNTS: NAME CALLS BYTES_SENT BYTES_RECEIVED.
void write_calls(void);

// For Fortran: a name of `length` characters.
void note_fortran_call(const char* name, int length);

#endif
