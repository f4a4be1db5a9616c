// SPDX-License-Identifier: Apache-2.0
// Implements the process that waits for a launcher's end. It has a session of its own and no open files, so
// neither a signal to the launcher's process group reaches it, nor does a reader of the launcher's output wait for
// it. See folder_watcher.hpp.
#include "cli/folder_watcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "cli/slurm_record.hpp"
#include "cli/stale_folders.hpp"
#include "memory/ledger/job_file.hpp"

namespace terrace::cli {

namespace {

constexpr std::chrono::milliseconds k_poll{100};
constexpr int k_usual_files = 1024;  // soft limit of open files

// Detaches this process from the launcher's session, files and current folder.
void detach() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  setsid();
  prctl(PR_SET_NAME, "terrace-watch");
  static_cast<void>(!chdir("/"));
  if (syscall(SYS_close_range, 0U, ~0U, 0U) != 0)
    for (int fd = 0; fd < k_usual_files; ++fd) close(fd);  // before Linux 5.9
  for (int fd = 0; fd < 3; ++fd) static_cast<void>(!open("/dev/null", O_RDWR));
}

// Waits until the launcher has ended. Returns whether it left its folder.
bool wait_for_launcher(const std::filesystem::path& lock) {
  const int fd = open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;  // a launcher that ends normally removes the file before
}

void watch(const std::filesystem::path& folder) {
  const auto lock = folder / k_lock_file;
  detach();
  if (!wait_for_launcher(lock)) return;
  while (has_live_process(folder)) std::this_thread::sleep_for(k_poll);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  remove_stale_allocations();
  memory::remove_stale_ledgers();
}

}  // namespace

FolderWatcher::FolderWatcher(const std::filesystem::path& folder, bool is_wanted) noexcept {
  if (!is_wanted) return;
  process_ = fork();
  if (process_ != 0) return;
  try {
    watch(folder);
  } catch (const std::exception&) {  // the next launch removes the folder
  }
  _exit(0);
}

FolderWatcher::~FolderWatcher() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace terrace::cli
