// SPDX-License-Identifier: Apache-2.0
// RAII wrappers of HDF5: identifiers, the library lock, files; errors become exceptions with HDF5's text. Used by
// checkpoints and by the copies of single datasets.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// Owns an HDF5 identifier; a negative one is none.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }
  explicit operator bool() const { return id_ >= 0; }
  [[nodiscard]] hid_t get() const { return id_; }
  // Closes the identifier and returns HDF5's result.
  herr_t reset() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// Scope in which this thread has exclusive use of HDF5, which is not thread-safe, and HDF5 prints no errors.
class Library {
 public:
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* with_ = nullptr;
};

// An HDF5 file over an io::File, which must outlive it. Throws terrace::Error with the system's reason, or
// HDF5's.
class Hdf5File {
 public:
  // Creates an HDF5 file behind a user block of `user_block` bytes, which HDF5 leaves alone: 0, or a power of
  // two >= 512.
  [[nodiscard]] static Hdf5File make(File& file, std::uint64_t user_block);
  [[nodiscard]] static Hdf5File open(File& file, Use use);
  // Without close(), discards all further writes, so that an incomplete file is never found.
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  [[nodiscard]] File& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return file_->path(); }
  [[nodiscard]] hid_t id() const { return id_.get(); }
  // Throws Error{failed}.
  void close();

  // Throws Error{failed} with the system's reason if it refused something, else Error{code} with HDF5's reason.
  [[noreturn]] void fail(Code code, const std::string& what) const;
  // Calls fail() if `result` is negative.
  void need(herr_t result, const char* what) const {
    if (result < 0) fail(Code::failed, what);
  }

 private:
  Hdf5File(File& file, std::uint64_t user_block, bool is_made, Use use);

  File* file_;
  Handle driver_;
  Handle id_;
};

// Returns HDF5's innermost error text for its last failure.
[[nodiscard]] std::string hdf5_reason();

}  // namespace terrace::stencil::io
