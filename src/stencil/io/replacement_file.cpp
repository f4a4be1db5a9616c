// SPDX-License-Identifier: Apache-2.0
// Writes a file under a temporary name, locked against other writers, and renames it over the target. Used by
// Checkpoint::write(), so that a killed program leaves the previous checkpoint.
#include "stencil/io/replacement_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"

namespace terrace::stencil::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, const char* advice) {
  throw Error(Code::failed, path + ": " + what + ": " + std::strerror(errno) + ": " + advice);
}

// Follows symbolic links: the target is replaced, the link stays.
std::string target_of(const std::string& path) {
  std::error_code problem;
  const auto status = fs::status(path, problem);
  if (!fs::exists(status)) return path;
  if (!fs::is_regular_file(status))
    throw Error(Code::failed, path + ": this is not a regular file: name another file");
  const auto found = fs::canonical(path, problem);
  return problem ? path : found.string();
}

// Returns whether the name still belongs to the open file: the previous owner may have renamed that file between
// our open and lock.
bool is_still(const std::string& name, int descriptor) {
  struct stat named {
  }, opened{};
  return stat(name.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

// Syncs the folder of the target, so that the rename survives a crash.
void sync_folder(const std::string& path, const std::string& target) {
  const auto folder = fs::path(target).parent_path();
  const auto descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "its folder cannot be opened for fsync()", "make the folder readable");
  // Some file systems cannot sync directories.
  const auto is_synced = fsync(descriptor) == 0 || errno == EINVAL;
  const auto error = errno;
  close(descriptor);
  errno = error;
  if (!is_synced) fail(path, "fsync() of its folder failed", "name a file elsewhere");
}

}  // namespace

ReplacementFile::ReplacementFile(const std::string& path) : target_(target_of(path)), name_(target_ + ".part") {
  do {
    const auto descriptor = open(name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) fail(path, name_ + " cannot be created", "name a file in a writable folder");
    file_ = std::make_unique<File>(path, descriptor);
    lock(path, descriptor, true);
  } while (!is_still(name_, file_->descriptor()));
  file_->resize(0);
  file_->check();
}

ReplacementFile::~ReplacementFile() {
  // Remove it before closing releases the lock: afterwards the name may be another program's.
  if (file_ && !name_.empty()) unlink(name_.c_str());
}

void ReplacementFile::commit() {
  file_->sync();
  file_->check();
  if (std::rename(name_.c_str(), target_.c_str()) != 0)
    fail(file_->path(), name_ + " cannot be renamed to it", "name a file elsewhere");
  name_.clear();
  sync_folder(file_->path(), target_);
}

}  // namespace terrace::stencil::io
