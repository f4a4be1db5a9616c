// SPDX-License-Identifier: Apache-2.0
// Declares the backing file of the spill engines and of the stencil library's out-of-core data: private, unlinked,
// removed by the kernel when its process ends. By default a chunk lies at its own offset from the start of the
// memory, so the file is sparse. Not thread-safe, but for sync_cached(), which another thread may run
// (remapper.hpp).
#pragma once

#include <cstdint>
#include <string>

namespace terrace::transfer {

class SpillFile {
 public:
  // Creates the file in the folder, with access for this user only; uses O_DIRECT where the file system supports
  // it. Throws Error{failed} with folder and reason.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool is_direct() const noexcept { return direct_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  // The int functions return 0 or an errno value.

  // Allocates disk blocks for later writes. Returns EOPNOTSUPP where the file system cannot.
  int reserve(std::uint64_t offset, std::uint64_t size) noexcept;
  // Maps the range shared at the address (MAP_FIXED): the kernel pages it from here on.
  int map(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept;
  // Maps the range privately at the address (MAP_FIXED): writes do not reach the file.
  int map_private(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept;
  // Maps the range privately at an address of the kernel's choice, inherited by children of fork(2). Returns the
  // address, or 0 with errno set.
  [[nodiscard]] std::uint64_t map_private_anywhere(std::uint64_t offset, std::uint64_t size) const noexcept;
  // Zeroes the range and keeps its blocks allocated.
  int make_zero(std::uint64_t offset, std::uint64_t size) noexcept;
  // Writes dirty pages of all mappings to the file.
  int sync_cached() noexcept;
  // Drops the page cache of a range that is not mapped any more.
  void drop_cached(std::uint64_t offset, std::uint64_t size) noexcept;
  // Frees the range's disk blocks.
  void release(std::uint64_t offset, std::uint64_t size) noexcept;

 private:
  // Makes the file at least `end` bytes long.
  int extend_to(std::uint64_t end) noexcept;

  std::string folder_;
  int fd_ = -1;
  int cached_fd_ = -1;  // the same file without O_DIRECT
  bool direct_ = true;
};

}  // namespace terrace::transfer
