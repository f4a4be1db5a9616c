// SPDX-License-Identifier: Apache-2.0
// Finds the known name closest to a mistyped one, for "did you mean" hints about files and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::machine {

// Returns the name in `known` with the least restricted Damerau-Levenshtein distance from `word`, or "" if none is
// within a third of the word's length (at least 1).
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

}  // namespace terrace::machine
