// The names by which the wrapper's assembler, the library and the launcher know the versions of functions without
// hooks (cli/wrapper/unhooked_copies.hpp).
#pragma once

#include <string_view>

namespace terrace::observe {

// A byte in the library: not zero while nobody listens to hooks of accesses.
inline constexpr std::string_view k_unhooked = "__terrace_unhooked";
// Of the version's symbol: "f.unhooked".
inline constexpr std::string_view k_unhooked_ending = ".unhooked";

}  // namespace terrace::observe
