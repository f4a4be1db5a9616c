// SPDX-License-Identifier: Apache-2.0
// Removes the journal folder of a launcher that is killed in a batch or MPI job. Hydra and Slurm kill the
// processes of a job with SIGKILL, which a launcher cannot handle, and nothing else of the job's user may run on
// the node later. A child process of the launcher waits until the kernel releases the folder's lock (FolderLock),
// then until no process of the program lives, and removes the folder and the job's stale ledgers.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace terrace::cli {

// Owns the watching process. Not thread-safe.
class FolderWatcher {
 public:
  // Starts the process if `is_wanted`. Requires: the folder has its lock file, and this process has one thread. No
  // process is started if the system refuses one; the next launch then removes the folder.
  FolderWatcher(const std::filesystem::path& folder, bool is_wanted) noexcept;
  // Ends the process.
  ~FolderWatcher();
  FolderWatcher(const FolderWatcher&) = delete;
  FolderWatcher& operator=(const FolderWatcher&) = delete;

 private:
  pid_t process_ = -1;  // -1: none
};

}  // namespace terrace::cli
