// SPDX-License-Identifier: Apache-2.0
// Implements a TieredBackend of main memory over a backing file, for the executor `streamed`. A fetched chunk
// takes the pages of an evicted one: mremap(2) moves them to its addresses without copying. So all datasets
// together use only the memory of the frames.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stencil/stream/tiered_backend.hpp"
#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/spill_file.hpp"

namespace terrace::stencil {

class FileBackend final : public TieredBackend {
 public:
  // Creates the backing file in `folder`, and `memory` bytes of frames of `chunk` bytes each. Throws
  // Error{no_memory} or Error{failed}.
  FileBackend(const std::string& folder, std::size_t memory, std::size_t chunk);
  ~FileBackend() override;

  [[nodiscard]] std::string name() const override { return "datasets in " + file_.folder(); }
  [[nodiscard]] std::size_t chunk() const override { return chunk_; }
  [[nodiscard]] std::size_t frames() const override { return frames_; }
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) override;
  void remove_dataset(DatasetId dataset) override;
  void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) override;
  [[nodiscard]] std::size_t num_free_transfers() const override { return queue_->num_free(); }
  [[nodiscard]] bool clear(const ChunkId& chunk, std::uint64_t ticket) override;
  void fetch(const ChunkId& chunk, std::uint64_t ticket) override;
  void store(const ChunkId& chunk, std::uint64_t ticket) override;
  void submit() override { queue_->submit(); }
  [[nodiscard]] bool next(Completion& completion) override;
  [[nodiscard]] int completion_fd() const override { return queue_->completion_fd(); }
  void read(const Part& part, std::byte* to) override;
  void write(const Part& part, const std::byte* from) override;
  void flush() override;

 private:
  struct Dataset {
    std::byte* first = nullptr;
    std::size_t size = 0;
    std::uint64_t offset = 0;  // offset in the file
  };
  [[nodiscard]] std::byte* address(const ChunkId& chunk) const {
    return datasets_[chunk.dataset].first + chunk.number * chunk_;
  }
  [[nodiscard]] std::uint64_t offset(const ChunkId& chunk) const {
    return datasets_[chunk.dataset].offset + std::uint64_t{chunk.number} * chunk_;
  }
  // Returns the address of a chunk's values: in its frame, or read into `bounce_`.
  [[nodiscard]] std::byte* in_memory(const Part& part);

  std::size_t chunk_;
  std::size_t frames_;
  transfer::SpillFile file_;
  std::unique_ptr<transfer::DiskQueue> queue_;
  std::vector<Dataset> datasets_;
  std::uint64_t file_end_ = 0;
  std::byte* pool_ = nullptr;  // addresses of frames without a chunk
  std::byte* bounce_ = nullptr;
  std::optional<ChunkId> bounced_;
  bool is_bounce_changed_ = false;
};

}  // namespace terrace::stencil
