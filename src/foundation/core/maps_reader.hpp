// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's description of the process's mappings, line by line: /proc/self/maps and smaps. The agent
// finds unannounced and locked mappings by it; the page observers read the Referenced counts of smaps.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace terrace {

// Reads lines through a small buffer by direct system calls. Allocates nothing and calls no interposed function,
// so it may run inside the allocator.
class MapsReader {
 public:
  explicit MapsReader(const char* path)
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))) {}
  ~MapsReader() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  // Reads the next line into `out`, truncated to `size` with its terminator. Returns false at the end.
  bool read_line(char* out, std::size_t size) {
    std::size_t length = 0;
    for (int c = next_byte(); c >= 0; c = next_byte()) {
      if (c == '\n') {
        out[length] = '\0';
        return true;
      }
      if (length + 1 < size) out[length++] = static_cast<char>(c);
    }
    return false;
  }

 private:
  int next_byte() {
    if (at_ == filled_) {
      const auto n = fd_ < 0 ? 0 : syscall(SYS_read, fd_, buffer_, sizeof buffer_);
      if (n <= 0) return -1;
      at_ = 0;
      filled_ = static_cast<std::size_t>(n);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  int fd_;
  char buffer_[4096];
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

// Parses a hexadecimal number, such as an address of a line, and advances `text` behind it.
inline std::uint64_t read_hexadecimal(const char*& text) {
  std::uint64_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      value = value * 16 + static_cast<std::uint64_t>(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      value = value * 16 + static_cast<std::uint64_t>(*text - 'a' + 10);
    else
      return value;
  }
}

}  // namespace terrace
