// SPDX-License-Identifier: Apache-2.0
// Classifies the compilers' instrumentation hooks by the names of their entry points, and names the copies of
// functions without hooks, which run while no accesses are traced (cli/wrapper/unhooked_copies.hpp), for the
// assembler wrapper, the runtime library and the launcher.
#pragma once

#include <string_view>

namespace terrace::observe {

enum class Hook : unsigned char {
  none,
  access,  // precedes a load, a store or both
  block,   // begins a basic block
  other    // function entries and exits, locks, ...
};

// Returns the kind of the hook with that entry point.
constexpr Hook hook_of(std::string_view name) {
  constexpr std::string_view k_prefix = "__tsan_";
  if (name == "__sanitizer_cov_trace_pc") return Hook::block;
  if (!name.starts_with(k_prefix)) return Hook::none;
  name.remove_prefix(k_prefix.size());
  for (const std::string_view begin : {"read", "write", "unaligned_", "volatile_", "vptr_", "atomic"})
    if (name.starts_with(begin)) return Hook::access;
  return Hook::other;
}

// Symbol of a byte in the runtime library: not 0 while accesses are not traced (set_tracing_enabled).
inline constexpr std::string_view k_unhooked = "__terrace_unhooked";
// Suffix of a copy's symbol: "f.unhooked".
inline constexpr std::string_view k_unhooked_ending = ".unhooked";

}  // namespace terrace::observe
