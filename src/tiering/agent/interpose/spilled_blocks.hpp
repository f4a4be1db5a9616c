// SPDX-License-Identifier: Apache-2.0
// Spilled blocks for the interposed allocator functions. Preserve errno.
#pragma once

#include <cstddef>

namespace terrace::agent {

bool is_spilled(const void* block) noexcept;
// Releases a spilled block. Returns false if the block is not spilled. In a child of fork(2) such a block is an
// ordinary mapping, and stays until the child ends.
bool release_spilled(void* block) noexcept;
// Resizes a spilled block in place. Returns false, without effect, if impossible.
bool resize_spilled(void* block, std::size_t old_size, std::size_t size) noexcept;

}  // namespace terrace::agent
