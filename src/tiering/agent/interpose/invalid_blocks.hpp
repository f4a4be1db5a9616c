// SPDX-License-Identifier: Apache-2.0
// Detects invalid pointers passed to free() and realloc(). The C library aborts such a program; Terrace's blocks
// have no header by which it could recognise the error.
#pragma once

namespace terrace::agent {

// Returns whether the address is in one of Terrace's address ranges, but no block begins there. Returns false
// where others may have mapped memory since: mappings of the program's allocator, or ranges given up by
// confine().
bool is_invalid_block(const void* address) noexcept;

// Aborts the program if is_invalid_block(address), after writing `line`, the C library's message.
void require_valid_block(const void* address, const char* line) noexcept;

}  // namespace terrace::agent
