// What the system says of the process's mappings, line by line: /proc/self/maps and smaps.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace terrace {

// Lines of a file, through a small buffer and bare system calls: this runs in the middle of anything.
class MapsReader {
 public:
  explicit MapsReader(const char* path)
      : file_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))) {}
  ~MapsReader() {
    if (file_ >= 0) syscall(SYS_close, file_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  // The next line's beginning, cut at the buffer's size; false at the end.
  bool line(char* out, std::size_t room) {
    std::size_t length = 0;
    for (int c = next(); c >= 0; c = next()) {
      if (c == '\n') {
        out[length] = '\0';
        return true;
      }
      if (length + 1 < room) out[length++] = static_cast<char>(c);
    }
    return false;
  }

 private:
  int next() {
    if (at_ == filled_) {
      const auto n = file_ < 0 ? 0 : syscall(SYS_read, file_, buffer_, sizeof buffer_);
      if (n <= 0) return -1;
      at_ = 0;
      filled_ = static_cast<std::size_t>(n);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  int file_;
  char buffer_[4096];
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

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
