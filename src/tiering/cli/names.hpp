// `terrace --names KIND`: what an option may be given, one name a line. Completion asks for it while somebody
// types, so a machine file or a planner that is added later is offered as well.
#pragma once

#include <string_view>

namespace terrace::cli {

// Prints the names. Throws Error{invalid} where there is no such kind.
int print_names(std::string_view kind);

}  // namespace terrace::cli
