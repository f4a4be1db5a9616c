// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU over memory of the host. A frame is physical memory of the device; a chunk that comes gets that
// of one that leaves, mapped at its own addresses, so that kernels find a dataset at the same addresses at all
// times. The host's memory is pinned. Copies go by two streams, one each way.
//
// Unmapping does not wait for kernels. A stream gives a frame away only when the steps that use its chunk have
// ended; who runs kernels ends a step once they have.
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
  // So many bytes of the device's memory, in chunks of so many. Throws Error{no_memory} or Error{failed}.
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
    std::byte* host = nullptr;  // of temporaries: once somebody needs it
  };
  struct Frame {
    Handle memory = 0;
    std::optional<ChunkId> chunk;  // at whose addresses it is
  };
  [[nodiscard]] Address address(const ChunkId& chunk) const {
    return datasets_[chunk.dataset].first + std::uint64_t{chunk.number} * chunk_;
  }
  // Where a chunk is in the host's memory. Throws Error{no_memory}.
  [[nodiscard]] std::byte* host(const ChunkId& chunk);
  void allocate_host(Dataset& dataset) const;
  // The numbers of a chunk that is on the device, copied to `bounce_`.
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
  CommandStream own_;  // of read() and write()
  std::byte* bounce_ = nullptr;
  std::optional<ChunkId> bounced_;
  bool is_bounce_changed_ = false;
};

}  // namespace terrace::stencil::cuda
