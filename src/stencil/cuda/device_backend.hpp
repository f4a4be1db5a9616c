// SPDX-License-Identifier: Apache-2.0
// Implements a TieredBackend of GPU memory over pinned host memory, for the executor `gpu`. A frame is physical
// device memory of one chunk; a fetched chunk takes the frame of an evicted one, mapped at its own addresses, so
// kernels see a dataset at constant addresses. Copies use two streams, one for each direction.
//
// Invariant: unmapping does not wait for kernels, so a frame is remapped only when the steps that use its chunk
// have ended. The executor ends a step only after its kernels have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stencil/cuda/copy_stream.hpp"
#include "stencil/cuda/device.hpp"
#include "stencil/stream/tiered_backend.hpp"

namespace terrace::stencil::cuda {

class DeviceBackend final : public TieredBackend {
 public:
  // Allocates `memory` bytes of device memory in frames of `chunk` bytes. Throws Error{no_memory} or
  // Error{failed}.
  DeviceBackend(std::shared_ptr<const Device> device, std::size_t memory, std::size_t chunk);
  ~DeviceBackend() override;

  [[nodiscard]] std::string name() const override { return "datasets in the GPU's memory"; }
  [[nodiscard]] std::size_t chunk() const override { return chunk_; }
  [[nodiscard]] std::size_t frames() const override { return frames_.size(); }
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) override;
  void remove_dataset(DatasetId dataset) override;
  void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) override;
  [[nodiscard]] std::size_t num_free_transfers() const override { return k_max_copies - under_way_; }
  [[nodiscard]] bool clear(const ChunkId& chunk, std::uint64_t ticket) override;
  void fetch(const ChunkId& chunk, std::uint64_t ticket) override;
  void store(const ChunkId& chunk, std::uint64_t ticket) override;
  [[nodiscard]] bool next(Completion& completion) override;
  [[nodiscard]] int completion_fd() const override { return ended_.completion_fd(); }
  void read(const Part& part, std::byte* to) override;
  void write(const Part& part, const std::byte* from) override;
  void flush() override;

 private:
  static constexpr std::size_t k_max_copies = 16;
  struct Dataset {
    std::string name;
    Address first = 0;
    std::size_t size = 0;
    std::byte* host = nullptr;  // temporaries: allocated at first use
  };
  struct Frame {
    Handle memory = 0;
    std::optional<ChunkId> chunk;  // the chunk at whose addresses it is mapped
  };
  [[nodiscard]] Address address(const ChunkId& chunk) const {
    return datasets_[chunk.dataset].first + std::uint64_t{chunk.number} * chunk_;
  }
  // Returns a chunk's address in host memory. Throws Error{no_memory}.
  [[nodiscard]] std::byte* host(const ChunkId& chunk);
  void allocate_host(Dataset& dataset) const;
  // Copies the values of a resident chunk to `bounce_`.
  void copy_to_bounce(const ChunkId& chunk);
  void release() noexcept;

  std::shared_ptr<const Device> device_;
  const Driver& driver_;
  std::size_t chunk_;
  std::vector<Frame> frames_;
  std::vector<Dataset> datasets_;
  std::size_t under_way_ = 0;
  CopyCompletionQueue ended_;
  CopyStream up_;
  CopyStream down_;
  CommandStream own_;  // stream of read() and write()
  std::byte* bounce_ = nullptr;
  std::optional<ChunkId> bounced_;
  bool is_bounce_changed_ = false;
};

}  // namespace terrace::stencil::cuda
