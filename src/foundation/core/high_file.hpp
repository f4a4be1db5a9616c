// Files of Terrace's inside a program, out of its way: programs hand their own to others by small numbers (a
// shell's `exec 3<file`), and whoever has such a number loses it without being asked.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace terrace {

// The same file by a number that programs do not choose, closed on exec; the one that was given is closed. As it
// was where the limit on files is too low. errno stays.
inline int with_high_number(int file) noexcept {
  if (file < 0) return file;
  const int saved = errno;
  for (const int least : {512, 64}) {
    const auto high = static_cast<int>(syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, least));
    if (high < 0) continue;
    syscall(SYS_close, file);
    file = high;
    break;
  }
  errno = saved;
  return file;
}

// Which file it is: a number may be another's by now.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int file) noexcept {
    struct stat status {};
    if (fstat(file, &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    is_known_ = true;
  }
  [[nodiscard]] bool is_still(int file) const noexcept {
    const FileIdentity now(file);
    return is_known_ && now.is_known_ && now.device_ == device_ && now.inode_ == inode_;
  }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_known_ = false;
};

}  // namespace terrace
