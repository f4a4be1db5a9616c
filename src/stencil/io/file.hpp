// SPDX-License-Identifier: Apache-2.0
// Implements the file behind HDF5's virtual file driver, for checkpoints and datasets in HDF5 files. It stores the
// first failure and reports success to HDF5, which cannot close a file after a failed write. check() then throws
// the system's own reason.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace terrace::stencil::io {

enum class Use : std::uint8_t {
  read,           // shared lock
  read_complete,  // a file that is replaced, never changed: no lock
  change          // exclusive lock; created if it does not exist
};

class File {
 public:
  // Opens and locks the file, with locks compatible with HDF5's. Throws Error{not_found} or {failed}.
  File(std::string path, Use use);
  // Takes ownership of an open descriptor; error texts name the path.
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Returns whether the constructor created the file.
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::uint64_t size() const;

  // Reads; bytes beyond the end are 0. Returns false if the system refuses.
  bool read(std::uint64_t offset, void* to, std::size_t bytes);
  void write(std::uint64_t offset, const void* from, std::size_t bytes);
  void resize(std::uint64_t bytes);
  // Waits until all data are on disk.
  void sync();
  // Discards all further writes.
  void abandon() { keep("written", ECANCELED); }
  // Throws Error{failed} with the first failure, if any.
  void check() const;

 private:
  void keep(const char* what, int error);

  std::string path_;
  int descriptor_ = -1;
  bool is_made_ = false;
  const char* failed_ = nullptr;  // the operation that failed first
  int error_ = 0;
};

// Locks an open file, exclusively or shared. Throws Error{failed} if another program holds a conflicting lock.
// A file system without locks is accepted.
void lock(const std::string& path, int descriptor, bool is_alone);

}  // namespace terrace::stencil::io
