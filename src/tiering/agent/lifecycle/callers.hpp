// Names for what a program allocates: by the innermost function on the call stack that is not an allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::agent {

struct Process;

inline constexpr std::size_t k_name_capacity = 512;

// "makea cg.cpp:120" for the code that called into Terrace on this thread. `buffer` has k_name_capacity bytes.
std::string_view name_caller(Process& process, char* buffer) noexcept;

// Whether the file is a run-time library, which only does what somebody else asked for: libc and its like.
bool is_runtime_library(const char* path) noexcept;

// The function that runs at the address, without its parameters, as a user writes it; "" when it is not known.
// Takes note of libraries that were loaded lately: their static data become objects, so no lock of the runtime's
// may be held.
std::string function_name(Process& process, std::uint64_t address);

}  // namespace terrace::agent
