// SPDX-License-Identifier: Apache-2.0
// Chooses the file name of a profile and publishes the finished file under it, for the launcher's --output. See
// store_name.hpp.
#include "profile/store/store_name.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "profile/store/store_schema.hpp"

namespace terrace::profile {

namespace fs = std::filesystem;

namespace {

// Returns whether the file is a store, by SQLite's header: magic in bytes 0 to 15, application id at 68
// (sqlite.org, "Database File Format", section 1.3).
bool is_profile(const std::string& path) {
  constexpr std::string_view k_begins("SQLite format 3\0", 16);
  constexpr std::size_t k_application = 68;
  std::array<char, k_application + 4> head{};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), head.size()) || !std::string_view(head.data(), head.size()).starts_with(k_begins))
    return false;
  std::uint32_t application = 0;
  for (std::size_t i = 0; i < 4; ++i)
    application = application << 8 | static_cast<unsigned char>(head[k_application + i]);
  return application == k_store_application;
}

// Returns the n-th name for a file: "a.terrace", "a-2.terrace".
fs::path numbered(const fs::path& wanted, int n) {
  auto path = wanted;
  if (n > 1) path.replace_filename(wanted.stem().string() + "-" + std::to_string(n) + wanted.extension().string());
  return path;
}

// Claims `wanted`, or the next free name after it, by creating an empty file.
std::string claim_free_name(const fs::path& wanted) {
  for (int n = 1;; ++n) {
    const auto path = numbered(wanted, n);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file >= 0) {
      close(file);
      return path.string();
    }
    if (errno != EEXIST) throw Error(Code::failed, "cannot write " + path.string() + ": " + std::strerror(errno));
  }
}

}  // namespace

std::optional<StoreName::Identity> StoreName::identity_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  return Identity{found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

StoreName StoreName::next_free(const std::string& path) {
  StoreName name;
  name.path_ = name.target_ = path;
  return name;
}

StoreName StoreName::requested(const std::string& path) {
  StoreName name;
  name.path_ = name.target_ = path;
  name.is_requested_ = true;
  std::error_code problem;
  constexpr int k_max_links = 40;  // as the kernel's
  for (int i = 0; i < k_max_links && fs::is_symlink(name.target_, problem); ++i)
    name.target_ = (fs::path(name.target_).parent_path() / fs::read_symlink(name.target_, problem)).string();
  name.earlier_ = identity_of(name.target_);
  if (!name.earlier_) return name;
  const auto refuse = [&](const std::string& why) { throw Error(Code::invalid, path + ": " + why); };
  if (!fs::is_regular_file(name.target_, problem)) refuse("it is no plain file; name a file for the profile");
  if (name.earlier_->size > 0 && !is_profile(name.target_))
    refuse("a file is there that is no profile, and is not overwritten; name another");
  if (access(name.target_.c_str(), W_OK) != 0)
    refuse(std::string("the profile that is there may not be replaced: ") + std::strerror(errno));
  return name;
}

std::vector<std::string> StoreName::names_in_use() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (int n = 1; fs::exists(numbered(target_, n), ignored); ++n) names.push_back(numbered(target_, n).string());
  return names;
}

std::string StoreName::draft_path() const { return target_ + ".part-" + std::to_string(getpid()); }

bool StoreName::has_earlier() const { return earlier_ && identity_of(target_) == earlier_; }

// Replaces the earlier file. Returns false if it has changed or gone. Of concurrent launches one succeeds: the
// holder of the lock on the replaced file.
bool StoreName::replace_by(const std::string& draft) const {
  const int file = open(target_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  const bool is_earlier = is_locked && has_earlier();
  const int error = is_earlier && rename(draft.c_str(), target_.c_str()) != 0 ? errno : 0;
  close(file);
  if (error != 0) throw Error(Code::failed, "cannot write " + path_ + ": " + std::strerror(error));
  return is_earlier;
}

std::string StoreName::publish(const std::string& draft) const {
  if (earlier_ && replace_by(draft)) return path_;
  auto name = claim_free_name(target_);
  if (rename(draft.c_str(), name.c_str()) != 0) {
    const int error = errno;
    unlink(name.c_str());
    throw Error(Code::failed, "cannot write " + name + ": " + std::strerror(error));
  }
  return name == target_ ? path_ : name;
}

}  // namespace terrace::profile
