// SPDX-License-Identifier: Apache-2.0
// Reads and writes files by a single system call, as those below /proc and /sys require. Used by the runtime and
// the observers inside a program.
#pragma once

#include <cstddef>

namespace terrace {

// Reads at most `size - 1` bytes of the file and terminates them with a zero. Returns false if the file is empty
// or cannot be read. Allocates nothing and makes direct system calls, so allocators may call it.
bool read_small_file(const char* path, char* text, std::size_t size) noexcept;

// Writes the text into an existing file. Returns 0 or -errno. Makes direct system calls, too.
int write_small_file(const char* path, const char* text) noexcept;

}  // namespace terrace
