// SPDX-License-Identifier: Apache-2.0
// Finds and removes journal folders that killed launchers left, by the processes in file names, by times, and by
// the lock. See stale_folders.hpp.
#include "cli/stale_folders.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/session/session.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* k_lock = ".terrace-launcher";

// Returns the process that writes a file, from its name: a journal, LABEL.PROCESS.N.journal, or counts. 0 for
// others.
int process_of(std::string_view name) {
  constexpr std::string_view k_journal = ".journal";
  if (name.ends_with(k_journal)) {
    name.remove_suffix(k_journal.size());
    const auto number = name.rfind('.');
    if (number == std::string_view::npos) return 0;
    name = name.substr(0, number);
    name.remove_prefix(std::min(name.size(), name.rfind('.') + 1));
  } else {
    for (const std::string_view prefix : {runtime::k_spill_counts, runtime::k_ordered_counts})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  int process = 0;
  const auto* const end = name.data() + name.size();
  return std::from_chars(name.data(), end, process).ptr == end ? process : 0;
}

bool is_alive(int process) { return process > 0 && (kill(process, 0) == 0 || errno == EPERM); }

// Returns whether no launcher holds the folder's lock. False without a lock file: such a folder is protected, or
// of an earlier version.
bool is_abandoned(const fs::path& folder) {
  const int file = open((folder / k_lock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool is_free = flock(file, LOCK_EX | LOCK_NB) == 0;
  close(file);
  return is_free;
}

// Returns whether the folder is this user's, unchanged for k_stale_after, and without live processes or launcher.
bool is_stale(const fs::path& folder, std::time_t now) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  auto changed = status.st_mtime;
  const auto is_old = [&] { return now - changed > std::chrono::seconds(k_stale_after).count(); };
  if (!is_old()) return false;  // most folders: no need to read them
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) return false;  // not a launcher's: those contain no folders
    if (is_alive(process_of(entry.path().filename().string()))) return false;
    if (lstat(entry.path().c_str(), &status) == 0) changed = std::max(changed, status.st_mtime);
  }
  return is_old() && is_abandoned(folder);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) noexcept {
  try {
    // Rename after locking: no other launcher sees the file unlocked.
    const auto made = folder / (std::string(k_lock) + ".new");
    file_ = folder / k_lock;
    fd_ = open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) fs::rename(made, file_);
  } catch (const std::exception&) {  // without a lock file the folder is never removed
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

void FolderLock::protect_folder() noexcept {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

void remove_stale_folders(const fs::path& base) noexcept {
  constexpr std::string_view k_prefix = "terrace-";
  try {
    const auto now = std::time(nullptr);
    for (const auto& entry : fs::directory_iterator(base)) {
      if (!entry.path().filename().string().starts_with(k_prefix)) continue;
      std::error_code ignored;
      try {
        if (is_stale(entry.path(), now)) fs::remove_all(entry.path(), ignored);
      } catch (const std::exception&) {  // another launcher is removing it
      }
    }
  } catch (const std::exception&) {  // unreadable folder
  }
}

}  // namespace terrace::cli
