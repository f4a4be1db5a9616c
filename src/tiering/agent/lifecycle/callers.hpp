// SPDX-License-Identifier: Apache-2.0
// Names an allocation by its call site: the innermost function on the call stack that is no allocator. Used by the
// interposed malloc and mmap for the names of objects. Walks the stack with the unwinder, so it is not
// async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::agent {

struct Process;

inline constexpr std::size_t k_name_capacity = 512;

// Name of the MPI library ("MPICH 4.0.2") while a call of it is in progress on this thread that allocates
// nothing for the program, else null. What is allocated meanwhile is the library's, and has its name.
extern constinit thread_local const char* t_mpi_library __attribute__((tls_model("initial-exec")));

// Writes the name of the calling thread's allocation site ("makea cg.cpp:120") to `buffer`, which has
// k_name_capacity bytes, and returns it.
std::string_view name_caller(Process& process, char* buffer) noexcept;

// Returns whether the file is a run-time library (libc, OpenMP, an allocator), whose work counts as its caller's.
bool is_runtime_library(const char* path) noexcept;

// Returns the function at the address, demangled and without its parameters; "" if it is unknown.
// Requires: the caller holds no lock of the runtime, because static data of newly loaded libraries are registered.
std::string function_name(Process& process, std::uint64_t address);

}  // namespace terrace::agent
