// SPDX-License-Identifier: Apache-2.0
// Removes the journal folders of killed launchers, after a while in which the user can still merge them (`terrace
// merge`); those of batch and MPI jobs at once, because a job's user cannot return to its nodes. Each launch calls
// it when it makes its own folder.
#pragma once

#include <chrono>
#include <filesystem>

namespace terrace::cli {

// Time after the last change in which `terrace merge` can still read a folder.
inline constexpr std::chrono::hours k_stale_after{7 * 24};
// Name of the lock file.
inline constexpr const char* k_lock_file = ".terrace-launcher";

// Marks a folder as owned by a running launcher, by a locked file in it. The kernel releases the lock (flock)
// however the launcher ends.
class FolderLock {
 public:
  // `is_removed_at_once`: the folder is stale as soon as its processes are dead, without a delay.
  FolderLock(const std::filesystem::path& folder, bool is_removed_at_once) noexcept;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Removes the folder, the lock file last: one of a launcher that is killed meanwhile still counts as its own.
  void remove_folder() noexcept;
  // Exempts the folder from remove_stale_folders() for ever, by removing the lock file.
  void protect_folder() noexcept;

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  int fd_ = -1;
};

// Returns whether a process that writes a file of the folder is alive. Throws std::exception.
bool has_live_process(const std::filesystem::path& folder);

// Removes this user's folders in `base` whose launcher and processes are dead and in which nothing has changed for
// k_stale_after. Folders that are to be removed at once are exempt from the delay if this process would see their
// processes: those of this boot and PID namespace. Leaves protected folders. Ignores errors.
void remove_stale_folders(const std::filesystem::path& base) noexcept;

}  // namespace terrace::cli
