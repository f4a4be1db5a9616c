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

#include "core/small_file.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

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

// Returns whether a process runs. A zombie, which its parent has not waited for, does not.
bool is_alive(int process) {
  if (process <= 0 || (kill(process, 0) != 0 && errno != EPERM)) return false;
  char text[256] = "";  // "4711 (name) S ...": the name may contain parentheses
  const auto path = "/proc/" + std::to_string(process) + "/stat";
  if (!read_small_file(path.c_str(), text, sizeof text)) return true;
  const std::string_view stat(text);
  const auto end = stat.rfind(") ");
  return end == std::string_view::npos || stat.substr(end + 2, 1).find_first_of("ZX") == std::string_view::npos;
}

// Returns whether no launcher holds the folder's lock. False without a lock file: such a folder is protected, or
// of an earlier version.
bool is_abandoned(const fs::path& folder) {
  const int file = open((folder / k_lock_file).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool is_free = flock(file, LOCK_EX | LOCK_NB) == 0;
  close(file);
  return is_free;
}

// Returns an identifier of what this process shares with those that it can see: the boot and the PID namespace; ""
// if it is not known. Nodes that share a file system have different ones.
std::string find_origin() {
  char boot[64] = "";
  struct stat status {};
  if (!read_small_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot)) return {};
  if (stat("/proc/self/ns/pid", &status) != 0) return {};
  const std::string_view id(boot);
  return std::string(id.substr(0, id.find('\n'))) + " " + std::to_string(status.st_ino);
}

// Returns whether the folder is to be removed without a delay, by its lock file.
bool is_removable_at_once(const fs::path& folder) {
  char text[128] = "";
  return read_small_file((folder / k_lock_file).c_str(), text, sizeof text) && text == find_origin();
}

// Returns whether the folder is this user's, unchanged for k_stale_after or removable at once, and without live
// processes or launcher.
bool is_stale(const fs::path& folder, std::time_t now) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
  auto changed = status.st_mtime;
  const auto delay = is_removable_at_once(folder) ? -1 : std::chrono::seconds(k_stale_after).count();
  const auto is_old = [&] { return now - changed > delay; };
  if (!is_old()) return false;  // most folders: no need to read them
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) return false;  // not a launcher's: those contain no folders
    if (lstat(entry.path().c_str(), &status) == 0) changed = std::max(changed, status.st_mtime);
  }
  return is_old() && !has_live_process(folder) && is_abandoned(folder);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, bool is_removed_at_once) noexcept {
  try {
    folder_ = folder;
    // Rename after locking: no other launcher sees the file unlocked.
    const auto made = folder / (std::string(k_lock_file) + ".new");
    file_ = folder / k_lock_file;
    fd_ = open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const auto origin = is_removed_at_once ? find_origin() : std::string();
    // Without its origin the folder stays for the usual time.
    if (fd_ >= 0) static_cast<void>(!write(fd_, origin.data(), origin.size()));
    if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) fs::rename(made, file_);
  } catch (const std::exception&) {  // without a lock file the folder is never removed
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

void FolderLock::remove_folder() noexcept {
  std::error_code ignored;
  try {
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path() != file_) fs::remove_all(entry.path(), ignored);
  } catch (const std::exception&) {  // it is being removed
  }
  fs::remove_all(folder_, ignored);
}

void FolderLock::protect_folder() noexcept {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

bool has_live_process(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    return is_alive(process_of(entry.path().filename().string()));
  });
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
