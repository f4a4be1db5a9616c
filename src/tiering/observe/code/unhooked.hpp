// SPDX-License-Identifier: Apache-2.0
// Names the copies of functions without hooks, which run while no accesses are traced
// (cli/wrapper/unhooked_copies.hpp), for the assembler wrapper, the runtime library and the launcher.
#pragma once

#include <string_view>

namespace terrace::observe {

// Symbol of a byte in the runtime library: not 0 while accesses are not traced (set_tracing_enabled).
inline constexpr std::string_view k_unhooked = "__terrace_unhooked";
// Suffix of a copy's symbol: "f.unhooked".
inline constexpr std::string_view k_unhooked_ending = ".unhooked";

}  // namespace terrace::observe
