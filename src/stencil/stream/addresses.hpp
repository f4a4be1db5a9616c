// SPDX-License-Identifier: Apache-2.0
// Reserves address ranges and moves pages between them by mremap(2), without copying. Used by FileBackend, the
// backing file of the executor `streamed`.
#pragma once

#include <cstddef>
#include <string>

namespace terrace::stencil {

// Reserves a range without memory, aligned to a huge page. Throws Error{no_memory}, which names `what`.
[[nodiscard]] std::byte* reserve_addresses(std::size_t size, const std::string& what);

// Moves the pages at `from` to `to`; `from` stays reserved without pages. Returns false with errno set if the
// kernel refuses.
[[nodiscard]] bool move_pages(std::byte* from, std::byte* to, std::size_t size) noexcept;

}  // namespace terrace::stencil
