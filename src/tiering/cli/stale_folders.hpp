// Folders of launchers that were killed: what they leave is kept for a while, then removed.
#pragma once

#include <chrono>
#include <filesystem>

namespace terrace::cli {

// For so long after the last change there is time for `terrace merge`.
inline constexpr std::chrono::hours k_stale_after{7 * 24};

// Marks a folder as a living launcher's: a locked file in it. The system unlocks it when the launcher ends,
// however it ends.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder) noexcept;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // The folder is to stay, whatever its age.
  void protect_folder() noexcept;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

// Removes this user's folders in `base` whose launcher and processes are dead, and in which nothing has changed
// for so long. None that was to be kept.
void remove_stale_folders(const std::filesystem::path& base) noexcept;

}  // namespace terrace::cli
