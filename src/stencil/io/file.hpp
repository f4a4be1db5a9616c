// SPDX-License-Identifier: Apache-2.0
// A file that HDF5 reads and writes through us. The first failure is kept, and HDF5 is told that all went well: it
// cannot close a file after a failed write. Who closes the file asks here, and gets the system's own reason.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace terrace::stencil::io {

enum class Use : std::uint8_t {
  read,           // locked against programs that write it
  read_complete,  // one that nobody writes once it is there: programs replace it by another
  change          // locked against all; made where there is none
};

class File {
 public:
  // HDF5 itself locks files in the same way. Throws Error{not_found} or {failed}.
  File(std::string path, Use use);
  // One that is open. Texts of errors name the path.
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // It was not there before.
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::uint64_t size() const;

  // Zeros beyond the end. False where the system refuses.
  bool read(std::uint64_t offset, void* to, std::size_t bytes);
  void write(std::uint64_t offset, const void* from, std::size_t bytes);
  void resize(std::uint64_t bytes);
  // Returns when all is on the disk.
  void sync();
  // Nothing is written from now on.
  void abandon() { keep("written", ECANCELED); }
  // Throws Error{failed} with the first failure, if there is any.
  void check() const;

 private:
  void keep(const char* what, int error);

  std::string path_;
  int descriptor_ = -1;
  bool is_made_ = false;
  const char* failed_ = nullptr;  // what failed first
  int error_ = 0;
};

// Locks a file that is open, for this program alone or together with others. Throws Error{failed} where another
// one has it. A file system without locks is taken as it is.
void lock(const std::string& path, int descriptor, bool is_alone);

}  // namespace terrace::stencil::io
