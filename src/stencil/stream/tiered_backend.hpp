// SPDX-License-Identifier: Apache-2.0
// Interface of a fast and a slow memory between which Stream (stream.hpp) moves chunks of datasets. Each
// dataset has fixed addresses in the fast memory for all of its chunks. A resident chunk has a frame: physical
// memory of one chunk, which can be remapped from one chunk's addresses to another's. In the slow memory each
// chunk has storage of its own. Implemented by FileBackend (out-of-core memory) and DeviceBackend (GPU over host).
//
// Not thread-safe: a stream calls one function at a time. Functions throw Error, whose text states what failed
// and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stencil/stream/scheduler.hpp"

namespace terrace::stencil {

class TieredBackend {
 public:
  // A finished transfer; `error` is empty if it succeeded.
  struct Completion {
    std::uint64_t ticket = 0;
    std::string error;
  };
  // A part of a chunk, in bytes, and where its current values are.
  struct Part {
    ChunkId chunk;
    std::size_t within = 0;
    std::size_t size = 0;
    bool is_fast = false;
    bool is_clear = false;  // never stored to the slow memory; counts as 0
  };

  virtual ~TieredBackend() = default;
  // Returns where datasets are, for error texts: "datasets in /scratch".
  [[nodiscard]] virtual std::string name() const = 0;
  // Returns the chunk size in bytes.
  [[nodiscard]] virtual std::size_t chunk() const = 0;
  [[nodiscard]] virtual std::size_t frames() const = 0;

  // Adds the next dataset: reserves its addresses and its storage in the slow memory. Returns its first byte.
  virtual std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) = 0;
  // Frees the dataset's slow storage; its addresses stay reserved. Requires that no transfer of it is in
  // flight.
  virtual void remove_dataset(DatasetId dataset) = 0;

  // Remaps a frame from a chunk (or from the free frames) to the addresses of another; its contents are
  // undefined.
  virtual void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) = 0;
  // Returns how many more transfers may be started.
  [[nodiscard]] virtual std::size_t num_free_transfers() const = 0;
  // Start a transfer of a whole resident chunk; next() reports its end. If clear() zero-fills synchronously it
  // returns true, and next() does not report it.
  [[nodiscard]] virtual bool clear(const ChunkId& chunk, std::uint64_t ticket) = 0;
  virtual void fetch(const ChunkId& chunk, std::uint64_t ticket) = 0;
  virtual void store(const ChunkId& chunk, std::uint64_t ticket) = 0;
  // Submits the transfers started so far.
  virtual void submit() {}
  // Takes one finished transfer. Returns false if there is none.
  [[nodiscard]] virtual bool next(Completion& completion) = 0;
  // Returns a descriptor that is readable for poll(2) after a transfer ended, until next() returns false.
  [[nodiscard]] virtual int completion_fd() const = 0;

  // Copy between a chunk and the program's buffers. Require that no transfer is in flight.
  virtual void read(const Part& part, std::byte* to) = 0;
  virtual void write(const Part& part, const std::byte* from) = 0;
  // Writes buffered data of write() to their storage.
  virtual void flush() {}
  // Bytes that read() and write() moved between the memories so far, in whole chunks.
  struct TransferredBytes {
    double in = 0;
    double out = 0;
  };
  [[nodiscard]] const TransferredBytes& transferred() const { return transferred_; }

 protected:
  TransferredBytes transferred_;
};

}  // namespace terrace::stencil
