// SPDX-License-Identifier: Apache-2.0
// HDF5 as this library uses it: identifiers that are given back, errors as text, files.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// An identifier, given back at the end. Negative is none.
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
  // What closing says.
  herr_t reset() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// As long as it is there, HDF5 is this thread's, since it is not made for several, and prints no errors.
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

// An HDF5 file over one of ours, which outlives it. Throws terrace::Error with the system's reason, or HDF5's.
class Hdf5File {
 public:
  // A new one behind so many bytes that HDF5 leaves alone: 0, or a power of two from 512 on.
  [[nodiscard]] static Hdf5File make(File& file, std::uint64_t user_block);
  [[nodiscard]] static Hdf5File open(File& file, Use use);
  // Without close() nothing more is written: what is half done must not be found later.
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  [[nodiscard]] File& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return file_->path(); }
  [[nodiscard]] hid_t id() const { return id_.get(); }
  // Throws Error{failed}.
  void close();

  // Throws Error: {failed} with what the system said where it refused, else with the code and HDF5's reason.
  [[noreturn]] void fail(Code code, const std::string& what) const;
  // Fails if it is negative.
  void need(herr_t result, const char* what) const {
    if (result < 0) fail(Code::failed, what);
  }

 private:
  Hdf5File(File& file, std::uint64_t user_block, bool is_made, Use use);

  File* file_;
  Handle driver_;
  Handle id_;
};

// The innermost reason that HDF5 has for its last failure.
[[nodiscard]] std::string hdf5_reason();

}  // namespace terrace::stencil::io
