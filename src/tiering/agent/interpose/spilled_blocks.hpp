// Blocks over a file, as the allocator's functions meet them.
#pragma once

#include <cstddef>

namespace terrace::agent {

bool is_spilled(const void* block) noexcept;
// False where it is no block over a file. In a child of fork(2) such a block is a mapping, and stays until it
// ends. Leaves errno alone, as the next does.
bool release_spilled(void* block) noexcept;
// Without its place being another: false where that cannot be.
bool resize_spilled(void* block, std::size_t old_size, std::size_t size) noexcept;

}  // namespace terrace::agent
