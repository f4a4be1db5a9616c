// SPDX-License-Identifier: Apache-2.0
// Distinguishes threads that an MPI implementation creates (progress threads of transfers and of its run-time
// system) from the program's. The interposed pthread_create(3) uses it: in virtual time such threads are not
// scheduled, because they sleep in the kernel on file descriptors, a wait that the scheduler cannot see, and their
// work is not the program's.
#pragma once

namespace terrace::agent {

// Returns whether the calling thread belongs to the implementation, or is inside a call of its library. Threads
// that it creates now belong to the implementation. The library is known by its file's name: libmpi* in all
// implementations, and those of the run-time systems that start their processes. Walks the stack.
[[nodiscard]] bool is_in_mpi() noexcept;

// Registers the calling thread, and those that it creates, as threads of the implementation.
void note_mpi_thread() noexcept;

}  // namespace terrace::agent
