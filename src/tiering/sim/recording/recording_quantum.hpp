// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes one quantum (a batch of one thread's accesses) in a recording's columns, for RecordingWriter
// and for `terrace replay`.
//
// Page walks follow the hits at each level, then calls of libm's functions: the number of called functions, and
// for each, in ascending order, the difference of its number from the previous one's and its count.
//
// The quantum's misses fall into classes: a chunk, a kind of miss, and whether they have weights. The events
// column lists the classes in the order of first occurrence, with the number of misses (and the sum of weights) of
// each: an observe::Tally, in its own order. The column of classes holds the position of each miss's class in that
// list (a byte, or two if there are more than 256) and then a byte for each non-zero weight. The column of lines
// holds, for each miss, the difference of its line from the successor of the last miss of its class: streams are
// zeros there.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/access_sink.hpp"
#include "observe/tally.hpp"
#include "sim/recording/recording_codec.hpp"

namespace terrace::sim {

// The columns of a frame while it is being filled.
struct RecordingColumns {
  std::vector<std::byte> events;
  std::vector<std::byte> classes;
  std::vector<std::byte> lines;

  [[nodiscard]] std::size_t size() const { return events.size() + classes.size() + lines.size(); }
  void clear() {
    events.clear();
    classes.clear();
    lines.clear();
  }
};

class QuantumEncoder {
 public:
  // Appends the quantum, its event's tag included.
  void put(RecordingColumns& out, const observe::Quantum& quantum);

 private:
  struct MissClass {
    ChunkId chunk = 0;
    std::uint8_t code = 0;  // the kind of miss, and whether the misses have weights
    std::uint16_t next_line = 0;
    std::uint32_t count = 0;
    std::uint64_t weight = 0;
  };
  std::uint32_t class_of(const observe::Miss& miss);
  std::uint32_t& slot_of(ChunkId chunk, std::uint8_t code);
  void put_classes(std::vector<std::byte>& out, bool wide) const;

  std::vector<std::uint32_t> slots_;  // by chunk + 1 (0: no chunk) and code: position of the class + 1; 0: none
  std::vector<MissClass> classes_;
  std::vector<std::uint16_t> class_of_miss_;
  std::vector<std::byte> weights_;
};

class QuantumDecoder {
 public:
  // Totals of a quantum. `tally` is replaced.
  struct Sums {
    observe::Quantum quantum;  // without its misses; its calls are valid until the next quantum
    std::uint32_t misses = 0;
  };
  // `quantum_accesses`: from the header; longer quanta are rejected.
  explicit QuantumDecoder(std::uint64_t quantum_accesses) : max_accesses_(quantum_accesses) {}
  // Takes the sizes of the frame's columns of classes and lines: a quantum with more misses than they can hold is
  // rejected, even if the misses are not requested.
  void begin_frame(std::size_t classes, std::size_t lines) {
    class_end_ = line_end_ = 0;
    class_bytes_ = classes;
    line_bytes_ = lines;
  }
  // Reads what follows the tag. Chunk numbers from `chunks` on are rejected.
  Sums sums(ColumnReader& events, ChunkId chunks, observe::Tally& tally);
  // Returns the misses of the quantum whose sums were read last, valid until the next call. The arguments are the
  // frame's whole columns. Throws Error{corrupt} if they do not add up to the sums.
  std::span<const observe::Miss> misses(std::span<const std::byte> classes, std::span<const std::byte> lines);

 private:
  struct MissClass {
    observe::Miss first;  // its chunk and kind
    std::uint32_t count = 0;
    std::uint64_t weight = 0;
    std::uint32_t seen = 0;
    std::uint64_t weight_seen = 0;
    std::uint16_t next_line = 0;
    bool weighed = false;
  };
  void read_calls(ColumnReader& events);
  template <class Number>
  void put_classes(std::span<const std::byte> numbers);
  void put_weights(ColumnReader weights);
  void put_lines(ColumnReader lines);

  std::vector<MissClass> classes_;
  std::vector<std::uint32_t> class_of_miss_;
  std::vector<observe::Miss> misses_;
  std::vector<observe::LibraryCalls> calls_;
  std::uint64_t max_accesses_;
  std::size_t class_bytes_ = 0, line_bytes_ = 0;
  std::uint32_t count_ = 0;
  bool wide_ = false;
  std::size_t class_begin_ = 0, class_end_ = 0;  // of this quantum in the frame's columns
  std::size_t line_begin_ = 0, line_end_ = 0;
};

}  // namespace terrace::sim
