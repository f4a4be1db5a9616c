// SPDX-License-Identifier: Apache-2.0
// Opens, locks, reads and writes the file under HDF5, and keeps the first error of the system. The virtual file
// driver and the seal of checkpoints call it. See file.hpp.
#include "stencil/io/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/size_signal.hpp"

namespace terrace::stencil::io {
namespace {

bool is_about_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

void lock(const std::string& path, int descriptor, bool is_alone) {
  if (flock(descriptor, (is_alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(Code::failed,
                path + ": another program has this file open: wait until it ends, or name another file");
}

File::File(std::string path, Use use) : path_(std::move(path)) {
  const auto flags = O_CLOEXEC | (use == Use::change ? O_RDWR : O_RDONLY);
  descriptor_ = open(path_.c_str(), flags);
  if (descriptor_ < 0 && errno == ENOENT && use == Use::change) {
    descriptor_ = open(path_.c_str(), flags | O_CREAT | O_EXCL, 0666);
    is_made_ = descriptor_ >= 0;
  }
  if (descriptor_ < 0)
    throw Error(errno == ENOENT ? Code::not_found : Code::failed,
                path_ + ": the file cannot be opened: " + std::strerror(errno) + ": name another file");
  struct stat about {};
  if (fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(descriptor_);
    throw Error(Code::failed, path_ + ": this is not a regular file: name another file");
  }
  try {
    if (use != Use::read_complete) lock(path_, descriptor_, use == Use::change);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat about {};
  return fstat(descriptor_, &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

bool File::read(std::uint64_t offset, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const auto count = pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      keep("read", errno);
      return false;
    }
    if (count == 0) {
      std::memset(at, 0, bytes);
      return true;
    }
    at += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

void File::write(std::uint64_t offset, const void* from, std::size_t bytes) {
  const ScopedSigxfszBlock without;
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0 && !failed_) {
    const auto count = pwrite(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return keep("written", count < 0 ? errno : EIO);
    at += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
}

void File::resize(std::uint64_t bytes) {
  const ScopedSigxfszBlock without;
  if (!failed_ && ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) keep("written", errno);
}

void File::sync() {
  if (!failed_ && fsync(descriptor_) != 0) keep("written", errno);
}

// Keeps the first failure for check(); later ones follow from it.
void File::keep(const char* what, int error) {
  if (failed_) return;
  failed_ = what;
  error_ = error;
}

void File::check() const {
  if (failed_)
    throw Error(Code::failed, path_ + ": the file cannot be " + failed_ + ": " + std::strerror(error_) +
                                  (is_about_room(error_) ? ": free space on its disk, or name a file elsewhere"
                                                         : ": name another file"));
}

}  // namespace terrace::stencil::io
