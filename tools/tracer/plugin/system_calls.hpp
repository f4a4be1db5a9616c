// SPDX-License-Identifier: Apache-2.0
// Defines, for the plug-in (plugin.cpp), the numbers of the system calls that change a program's memory, and of
// the one that replaces the program, by the tracer's name for the instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace terrace::tracer {

struct MemoryCalls {
  std::string_view isa;
  std::int64_t mmap, munmap, mremap, brk, execve;
};

// arch/*/entry/syscalls of the Linux kernel; mmap2 where there is one (it differs in the unit of the offset, which
// we do not look at). s390x is missing: its mmap has the arguments in memory.
inline constexpr std::array<MemoryCalls, 10> k_memory_calls{{
    {"x86_64", 9, 11, 25, 12, 59},
    {"aarch64", 222, 215, 216, 214, 221},
    {"aarch64_be", 222, 215, 216, 214, 221},
    {"riscv64", 222, 215, 216, 214, 221},
    {"riscv32", 222, 215, 216, 214, 221},
    {"loongarch64", 222, 215, 216, 214, 221},
    {"i386", 192, 91, 163, 45, 11},
    {"arm", 192, 91, 163, 45, 11},
    {"ppc64le", 90, 91, 163, 45, 11},
    {"ppc64", 90, 91, 163, 45, 11},
}};

// Null for others: their traces hold no memory maps.
constexpr const MemoryCalls* memory_calls(std::string_view isa) {
  for (const auto& calls : k_memory_calls)
    if (calls.isa == isa) return &calls;
  return nullptr;
}

}  // namespace terrace::tracer
