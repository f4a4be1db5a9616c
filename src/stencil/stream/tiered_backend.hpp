// SPDX-License-Identifier: Apache-2.0
// Two places of datasets' numbers, of which the fast one has room for a part: what a stream (stream.hpp) asks of
// them. Datasets are cut into chunks. Each dataset has addresses in the fast place for all of its chunks, which
// never change; a chunk that is there has a frame, memory for one chunk that can be moved from addresses to
// others. In the slow place each chunk has room of its own.
//
// A stream calls one function at a time. What throws, throws Error, whose text says what failed and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stencil/stream/scheduler.hpp"

namespace terrace::stencil {

class TieredBackend {
 public:
  // A transfer that has ended; without an error it did all that was asked.
  struct Completion {
    std::uint64_t ticket = 0;
    std::string error;
  };
  // A part of a chunk, in bytes, and where the chunk's numbers are.
  struct Part {
    ChunkId chunk;
    std::size_t within = 0;
    std::size_t size = 0;
    bool is_fast = false;
    bool is_clear = false;  // in the slow place nothing was ever stored, which counts as 0
  };

  virtual ~TieredBackend() = default;
  // Where datasets are, for errors: "datasets in /scratch".
  [[nodiscard]] virtual std::string name() const = 0;
  // Of a chunk, in bytes.
  [[nodiscard]] virtual std::size_t chunk() const = 0;
  [[nodiscard]] virtual std::size_t frames() const = 0;

  // The next dataset: addresses, and room in the slow place. Returns where its first byte is.
  virtual std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) = 0;
  // Its room in the slow place is free again; its addresses stay reserved. Nothing of it is under way.
  virtual void remove_dataset(DatasetId dataset) = 0;

  // A frame that `from` has had, or nobody, is that of another chunk, whose numbers do not matter.
  virtual void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) = 0;
  // How many more transfers may be under way.
  [[nodiscard]] virtual std::size_t num_free_transfers() const = 0;
  // Transfers of a whole chunk that has a frame; next() says when each has ended. Zeros may be there at once: then
  // clear() returns true, and next() says nothing of it.
  [[nodiscard]] virtual bool clear(const ChunkId& chunk, std::uint64_t ticket) = 0;
  virtual void fetch(const ChunkId& chunk, std::uint64_t ticket) = 0;
  virtual void store(const ChunkId& chunk, std::uint64_t ticket) = 0;
  // Those that were begun are on their way.
  virtual void submit() {}
  // False: none has ended.
  [[nodiscard]] virtual bool next(Completion& completion) = 0;
  // To wait on by poll(2) until one has ended; next() makes it quiet again.
  [[nodiscard]] virtual int completion_fd() const = 0;

  // Copies of the program's own, while nothing is under way.
  virtual void read(const Part& part, std::byte* to) = 0;
  virtual void write(const Part& part, const std::byte* from) = 0;
  // What write() has kept back is in its place.
  virtual void flush() {}
  // Bytes that these have moved between the places so far, in whole chunks.
  struct TransferredBytes {
    double in = 0;
    double out = 0;
  };
  [[nodiscard]] const TransferredBytes& transferred() const { return transferred_; }

 protected:
  TransferredBytes transferred_;
};

}  // namespace terrace::stencil
