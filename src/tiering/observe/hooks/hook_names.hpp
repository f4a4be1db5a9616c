// SPDX-License-Identifier: Apache-2.0
// Classifies the compilers' instrumentation hooks by the names of their entry points.
#pragma once

#include <string_view>

namespace terrace::observe {

enum class Hook : unsigned char {
  none,
  access,  // precedes a load, a store or both
  block,   // begins a basic block
  other    // function entries and exits, locks, ...
};

constexpr Hook hook_of(std::string_view name) {
  constexpr std::string_view k_prefix = "__tsan_";
  if (name == "__sanitizer_cov_trace_pc") return Hook::block;
  if (!name.starts_with(k_prefix)) return Hook::none;
  name.remove_prefix(k_prefix.size());
  for (const std::string_view begin : {"read", "write", "unaligned_", "volatile_", "vptr_", "atomic"})
    if (name.starts_with(begin)) return Hook::access;
  return Hook::other;
}

}  // namespace terrace::observe
