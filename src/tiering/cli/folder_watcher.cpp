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

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "cli/job_id.hpp"
#include "cli/slurm_record.hpp"
#include "cli/stale_folders.hpp"
#include "memory/ledger/folder.hpp"
#include "memory/ledger/job_file.hpp"

namespace terrace::cli {

namespace {

constexpr std::chrono::milliseconds k_poll{100};
constexpr int k_max_ledger_polls = 100;  // the next launch removes a ledger whose processes live longer
constexpr int k_usual_files = 1024;      // soft limit of open files

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

// Waits until the launcher has ended. Returns whether it left its lock file, which it removes last.
bool wait_for_launcher(const std::filesystem::path& lock) {
  const int fd = open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

bool has_ledger(const std::string& job) {
  const auto name = memory::ledger_file_name(job);
  return std::ranges::any_of(memory::ledger_paths(), [&](const std::string& path) {
    return std::filesystem::path(path).filename() == name;
  });
}

void watch(const std::filesystem::path& folder, const std::string& job) {
  const auto lock = folder / k_lock_file;
  std::error_code ignored;
  detach();
  if (wait_for_launcher(lock)) {
    while (has_live_process(folder)) std::this_thread::sleep_for(k_poll);
    std::filesystem::remove_all(folder, ignored);
  } else {
    std::filesystem::remove(folder, ignored);  // only if empty: a protected folder has journals
  }
  remove_stale_allocations();
  // Processes that are being killed, too, may own parts of the ledger until they have ended.
  for (int poll = 0; poll < k_max_ledger_polls; ++poll) {
    memory::remove_stale_ledgers();
    if (!has_ledger(job)) return;
    std::this_thread::sleep_for(k_poll);
  }
}

}  // namespace

FolderWatcher::FolderWatcher(const std::filesystem::path& folder, bool is_wanted) noexcept {
  if (!is_wanted) return;
  try {
    const auto job = find_node_job();  // depends on the parent
    process_ = fork();
    if (process_ == 0) watch(folder, job);
  } catch (const std::exception&) {  // the next launch removes the folder
  }
  if (process_ == 0) _exit(0);
}

FolderWatcher::~FolderWatcher() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace terrace::cli
