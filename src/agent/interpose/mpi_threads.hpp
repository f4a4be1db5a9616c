// Tells the threads that an implementation of MPI makes for itself (progress of transfers, of its run-time system)
// from the program's. In virtual time they do not take turns: they sleep in the kernel for what comes over
// descriptors, the scheduler cannot see that wait, and their work is not the program's.
#pragma once

namespace terrace::agent {

// Returns whether the calling thread belongs to the implementation, or is inside a call of its library. Threads
// that it creates now belong to the implementation. The library is known by its file's name: libmpi* in all
// implementations, and those of the run-time systems that start their processes. Walks the stack.
[[nodiscard]] bool is_in_mpi() noexcept;

// The calling thread is one of the implementation's, and so are those that it makes.
void note_mpi_thread() noexcept;

}  // namespace terrace::agent
