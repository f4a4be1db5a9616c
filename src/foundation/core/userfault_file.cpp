// SPDX-License-Identifier: Apache-2.0
// Opens userfaultfd(2) descriptors and explains refusals, for everything that traps page faults: pager, page
// exchange, sentinels, `terrace machine check`. See userfault_file.hpp.
#include "core/userfault_file.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/high_fd.hpp"

namespace terrace {

namespace {

constexpr unsigned long k_ioctl_new = _IO(0xAA, 0x00);  // USERFAULTFD_IOC_NEW, which older headers lack

constexpr int k_user_mode_only = 1;  // UFFD_USER_MODE_ONLY

// Opens a descriptor without negotiating features. Returns it or -errno.
int open_unchecked(bool user_mode_only) noexcept {
  const int flags = O_CLOEXEC | O_NONBLOCK | (user_mode_only ? k_user_mode_only : 0);
  if (const auto file = static_cast<int>(syscall(SYS_userfaultfd, flags)); file >= 0) return file;
  const int refusal = errno;
  if (refusal != EPERM && refusal != EACCES && refusal != ENOSYS) return -refusal;  // the device would fail, too
  const auto device = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  if (device < 0) return errno == ENOENT ? -refusal : -errno;
  const int file = ioctl(device, k_ioctl_new, flags);
  const int error = errno;
  syscall(SYS_close, device);
  return file >= 0 ? file : -error;
}

}  // namespace

std::string why_no_userfault(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return "because this process may not wait for page faults (userfaultfd; run as root, or set "
             "vm.unprivileged_userfaultfd = 1)";
    case ENOSYS:
    case EINVAL:
      return "because this kernel cannot let it wait for page faults as needed (userfaultfd; Linux 6.8 can)";
    case EMFILE:
      return "because the process has no file descriptor left to wait for page faults (userfaultfd; ulimit -n)";
    case ENFILE:
      return "because the system has no open file left to wait for page faults (userfaultfd)";
    case ENOMEM:
      return "because the system has no memory left to wait for page faults (userfaultfd)";
    case EAGAIN:
      return "because no thread could be started to wait for page faults";
    default:
      return std::string("because userfaultfd failed: ") + std::strerror(error);
  }
}

int open_userfault(std::uint64_t features, bool user_mode_only) noexcept {
  const int file = open_unchecked(user_mode_only);
  if (file < 0) return file;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  if (ioctl(file, UFFDIO_API, &api) == 0) return move_fd_high(file);
  const int error = errno;
  syscall(SYS_close, file);
  return -error;
}

}  // namespace terrace
