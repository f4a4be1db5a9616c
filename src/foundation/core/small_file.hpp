// Files that are read and written at once, as those below /proc and /sys.
#pragma once

#include <cstddef>

namespace terrace {

// The beginning of the file, at most `room - 1` bytes, and a zero behind it. False where it cannot be read or is
// empty. Allocates nothing, by bare system calls: it may be called from inside allocators.
bool read_small_file(const char* path, char* text, std::size_t room) noexcept;

// The text into a file that is there, at once; 0 or -errno. By bare system calls, too.
int write_small_file(const char* path, const char* text) noexcept;

}  // namespace terrace
