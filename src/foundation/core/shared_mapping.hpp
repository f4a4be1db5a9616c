// SPDX-License-Identifier: Apache-2.0
// Maps files shared between processes: journals, job ledgers, counters. Allocates their disk space first: on a
// full file system, a write through the mapping of a sparse file raises SIGBUS.
#pragma once

#include <cstddef>

namespace terrace {

// Allocates disk space for the bytes [from, to) of the file and extends it to `to` if it is shorter. Returns false
// and sets errno on failure.
bool allocate_file_space(int file, std::size_t from, std::size_t to) noexcept;

// Allocates and maps the first `size` bytes of the file, shared, for reading and writing. Returns null and sets
// errno on failure.
void* map_shared(int file, std::size_t size) noexcept;

}  // namespace terrace
