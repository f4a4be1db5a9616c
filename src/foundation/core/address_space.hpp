// What is left of the address space that the process may have (`ulimit -v`): reserving some counts, used or not.
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace {

// The limit; nothing where there is none.
std::optional<Bytes> address_space_limit() noexcept;
// Nothing where there is no limit, or where that is not known.
std::optional<Bytes> address_space_left() noexcept;
// What of `wanted` may be reserved ahead of need: all of it where there is no limit; else a quarter of what is
// left at most, for the program needs the rest, and nothing where that is less than 256 MiB.
Bytes reservable(Bytes wanted) noexcept;

}  // namespace terrace
