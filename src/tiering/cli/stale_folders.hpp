// SPDX-License-Identifier: Apache-2.0
// Removes the journal folders of killed launchers, after a while in which the user can still merge them (`terrace
// merge`). Each launch calls it when it makes its own folder.
#pragma once

#include <chrono>
#include <filesystem>

namespace terrace::cli {

// Time after the last change in which `terrace merge` can still read a folder.
inline constexpr std::chrono::hours k_stale_after{7 * 24};

// Marks a folder as owned by a running launcher, by a locked file in it. The kernel releases the lock (flock)
// however the launcher ends.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder) noexcept;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Exempts the folder from remove_stale_folders() for ever, by removing the lock file.
  void protect_folder() noexcept;

 private:
  std::filesystem::path file_;
  int fd_ = -1;
};

// Removes this user's folders in `base` whose launcher and processes are dead and in which nothing has changed for
// k_stale_after. Leaves protected folders. Ignores errors.
void remove_stale_folders(const std::filesystem::path& base) noexcept;

}  // namespace terrace::cli
