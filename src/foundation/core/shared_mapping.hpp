// Files that several processes map. The space is taken first: where a file system is full, a write through the
// mapping of a file with holes is SIGBUS.
#pragma once

#include <cstddef>

namespace terrace {

// Takes the space for the file's bytes [from, to); the file is at least so long afterwards. False where there is
// none, and errno says why.
bool take_space(int file, std::size_t from, std::size_t to) noexcept;

// The file's first bytes, shared, to read and write, with their space taken. Null where that cannot be, and errno
// says why.
void* map_shared(int file, std::size_t size) noexcept;

}  // namespace terrace
