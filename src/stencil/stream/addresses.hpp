// SPDX-License-Identifier: Apache-2.0
// Addresses of this process, and pages that move between them.
#pragma once

#include <cstddef>
#include <string>

namespace terrace::stencil {

// Addresses without memory, at a multiple of a huge page. Throws Error{no_memory} naming what they are for.
[[nodiscard]] std::byte* reserve_addresses(std::size_t size, const std::string& what);

// The pages at `from` are those at `to` from now on; at `from` there are none. False, and errno: they cannot be
// moved.
[[nodiscard]] bool move_pages(std::byte* from, std::byte* to, std::size_t size) noexcept;

}  // namespace terrace::stencil
