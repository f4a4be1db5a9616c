// What a program frees although no block begins there. The C library ends such a program; a block of ours has no
// header that it could see this from.
#pragma once

namespace terrace::agent {

// Whether the address is in an address space of ours, and no block begins there: not where it may be somebody
// else's by now, as a mapping of the program's allocator, or what others map where a block of ours was
// (confine()).
bool is_invalid_block(const void* address) noexcept;

// Ends the program where is_invalid_block(), as the C library does; `line` is what that writes.
void require_valid_block(const void* address, const char* line) noexcept;

}  // namespace terrace::agent
