// See small_file.hpp.
#include "core/small_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace terrace {

bool read_small_file(const char* path, char* text, std::size_t room) noexcept {
  text[0] = '\0';
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  const auto got = syscall(SYS_read, file, text, room - 1);
  syscall(SYS_close, file);
  text[std::max(got, 0L)] = '\0';
  return got > 0;
}

}  // namespace terrace
