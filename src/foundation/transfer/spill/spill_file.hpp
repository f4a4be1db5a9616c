// The file behind spilled memory: private, without a name, gone when its process is. A chunk of memory lies at
// its distance from the memory's beginning, so the file is sparse.
#pragma once

#include <cstdint>
#include <string>

namespace terrace::transfer {

class SpillFile {
 public:
  // In the folder, for this user alone. Past the kernel's cache where the file system can do that. Throws
  // Error{failed}, which names folder and reason.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  [[nodiscard]] int file() const noexcept { return file_; }
  [[nodiscard]] bool is_direct() const noexcept { return direct_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  // Room for writes there that come later: 0, or an errno value; EOPNOTSUPP where the file system cannot say.
  int reserve(std::uint64_t offset, std::uint64_t size) noexcept;
  // What is there becomes the memory at the address, by the kernel's own paging; 0, or an errno value.
  int map(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept;
  // The same, but what is written there is the writer's own.
  int map_private(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept;
  // A private mapping of what is there, which children of fork(2) have, too; 0 and errno where there is none.
  [[nodiscard]] std::uint64_t map_copy(std::uint64_t offset, std::uint64_t size) const noexcept;
  // Zeros are there from now on, and room for other content. 0, or an errno value.
  int make_zero(std::uint64_t offset, std::uint64_t size) noexcept;
  // What was written to mappings is in the file. 0, or an errno value.
  int sync_cached() noexcept;
  // What was mapped there is no more: it is in no cache.
  void drop_cached(std::uint64_t offset, std::uint64_t size) noexcept;
  // What is there is needed no more.
  void release(std::uint64_t offset, std::uint64_t size) noexcept;

 private:
  // The file is as long as that, or longer. 0, or an errno value.
  int reach(std::uint64_t end) noexcept;

  std::string folder_;
  int file_ = -1;
  int cached_ = -1;  // the same, by the kernel's cache
  bool direct_ = true;
};

}  // namespace terrace::transfer
