// SPDX-License-Identifier: Apache-2.0
// Defines the recording: the classified misses of a program and all its events between them, so that `terrace
// replay` can compute its time under other configurations without running it again. The agent writes it under
// --misses FILE. docs/reference/recordings.md is its specification.
//
// A file is a sequence of frames. Each is appended by one write call, so that several processes can share a file,
// and a killed process leaves complete frames behind. A frame is a skippable frame of zstd's format, which holds
// the head below, and three compressed frames, the columns; a file is therefore valid input for zstd itself. Each
// frame can be decoded on its own.
//
//   events   all events in the order in which they happened; of each quantum the sums by chunk and kind of miss
//   classes  the class of each miss (which of these sums it belongs to), and the weights of the dependent ones
//   lines    the position of each miss in its chunk
//
// A consumer that needs sums only, which is every one but a collector that draws samples, reads only the first
// column. The first frame of a process holds a RecordingHeader instead of events.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "machine/machine.hpp"

namespace terrace::sim {

inline constexpr std::uint32_t k_recording_version = 10;
inline constexpr std::uint64_t k_share_parts = 1'000'000;  // of a whole: resolution of shares

enum Column : std::uint8_t { k_events, k_classes, k_lines, k_columns };

// Tag of an event, which precedes its fields. Numbers are LEB128, signed ones in zigzag, texts a length and bytes,
// times the eight bytes of a double.
enum class EventTag : std::uint8_t {
  quantum = 1,
  object_added = 2,
  object_removed = 3,
  loop_begin = 4,
  loop_end = 5,
  phase_begin = 6,
  slept = 7,
  unobserved = 8,
  noted = 9,
  finished = 10,
  // Events of threads (ThreadClocks).
  runs = 11,
  alive = 12,
  follow = 13,
  meet = 14,
  release = 15,
  acquire = 16,
  covered = 17,  // a length, and a record encoded as in journals
  hinted = 18,
  loop_candidates = 19,  // as `covered`
  mpi_statistics = 20    // as `covered`
};

// Limit of thread numbers, which count from 0 in the order of creation (PID_MAX_LIMIT).
inline constexpr std::uint32_t k_max_recorded_threads = 1U << 22;

// Limits of what a header may say. Recorders write 16,384 accesses and 64 chunks.
inline constexpr std::uint64_t k_max_quantum_accesses = std::uint64_t{1} << 20;
// Limit of a quantum, for each access that fills it; the instructions of one access are at most a sixteenth of
// that.
inline constexpr std::uint64_t k_max_instructions = std::uint64_t{1} << 20;
inline constexpr std::uint32_t k_max_chunks_per_object = 4096;
// Limits of chunks, which a recording can request without paying in bytes: a replay keeps each in memory and scans
// all of them in every loop. An object has about `chunks_per_object`, unless it is so large that these would
// exceed `largest_chunk`; the chunks of such objects beyond that number are limited. At 1 GiB a chunk, that is 128
// TiB at a time, which is what a process can address, and 1 PiB over the run.
inline constexpr std::uint64_t k_max_chunks_beyond = std::uint64_t{1} << 17;
inline constexpr std::uint64_t k_max_chunks_beyond_ever = std::uint64_t{1} << 20;

// Bits of a quantum's flags.
inline constexpr std::uint8_t k_in_stride = 1;  // the program continued; if clear, a flush ended the quantum
inline constexpr std::uint8_t k_wide = 2;       // class numbers have two bytes: there are more than 256

// Geometry of a machine's caches. Recorded misses are valid on every machine with the same geometry.
struct CacheShape {
  struct Level {
    std::uint64_t size = 0;
    std::uint32_t ways = 0;
    bool shared = false;
    bool operator==(const Level&) const = default;
  };
  struct Tlb {
    std::uint32_t entries = 0;  // 0: none
    std::uint32_t ways = 0;
    std::uint64_t page = 0;
    bool operator==(const Tlb&) const = default;
  };
  std::uint64_t line = 0;
  std::uint32_t miss_registers = 0;
  std::uint32_t window = 0;  // of accesses
  std::uint32_t store_buffer = 0;
  std::uint32_t streams = 0;
  std::vector<Level> levels;  // from the core outwards
  Tlb tlb{};
  bool operator==(const CacheShape&) const = default;
};
CacheShape cache_shape(const machine::Machine& machine, InitiatorId initiator);
// Returns the difference in words: "cache lines: 64B there, 128B here". Empty if there is none.
// `there` and `here` are the names of the two machines in the message.
std::string difference(const CacheShape& a, const CacheShape& b, std::string_view there, std::string_view here);

// Identifies a recorded process and its program.
struct ProgramIdentity {
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  std::int64_t started_unix_ns = 0;
  std::string host;
  std::string program;  // path of the executable
  std::vector<std::string> arguments;
  std::int32_t rank = -1;   // in the MPI job; -1: none. Not kept in recordings.
  std::uint32_t ranks = 0;  // of the MPI job
};

struct RecordingHeader {
  ProgramIdentity identity;
  CacheShape caches;
  std::uint64_t quantum_accesses = 0;
  // How objects were cut into chunks (runtime::ChunkRule).
  std::uint32_t chunks_per_object = 0;
  std::uint64_t smallest_chunk = 0;
  std::uint64_t largest_chunk = 0;

  void to_blob(BlobWriter& out) const;
  // Throws Error{corrupt} if the bytes are no header, or one that no recorder writes.
  static RecordingHeader from_blob(BlobReader& in);
};

}  // namespace terrace::sim
