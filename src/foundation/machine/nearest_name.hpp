// "did you mean": the known name that a mistyped one is nearest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::machine {

// The name among `known` with the fewest insertions, deletions, replacements and swaps of neighbours away from
// `word`, or "" when none is within a third of its length (at least one).
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

}  // namespace terrace::machine
