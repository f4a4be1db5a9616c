// SPDX-License-Identifier: Apache-2.0
// Declares the interface for the events of a program other than accesses: objects, loops and phases from any
// source, sleeps, counts of untraced accesses, the end. The strategies, the recorder and the report of coverage
// listen. The runtime reports each event after it has happened, so all accesses before it are with the sinks.
// Invariant: no event depends on where data resides, so a listener of these events and of all quanta (AccessSink)
// can replay the run in other configurations.
//
// Calls are serialised. A listener overrides the events that it uses. A new kind of event is a new function here,
// and in the writer and the reader of recordings (src/tiering/sim/recording), unless other events imply it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/units.hpp"
#include "memory/chunk_table.hpp"
#include "observe/object.hpp"

namespace terrace::observe {

struct NewObject {
  std::string_view name;  // as the adapter or interposer reported it; not unique
  ObjectKind kind;
  std::uint64_t address = 0;
  Bytes size;
  ObjectId id = 0;          // assigned by the runtime
  ChunkId first_chunk = 0;  // likewise
  std::uint32_t chunks = 0;
  // The object as it is managed, and the address of its first chunk; absent in a recording.
  const Object* object = nullptr;
  std::uint64_t chunks_address = 0;
  bool is_at_home = false;  // its pages are bound to the home place already
};

// A hint of the program about its data (strategy/hints/hints.hpp).
struct ProgramHint {
  enum class What : std::uint8_t { value, references, uses, spares };
  What what = What::value;
  std::string_view of;    // the value's name; the object's; the phase's
  std::string_view says;  // the expression; the object that the phase uses or spares
  double value = 0;
};

struct NewLoop {
  std::string_view name;
  std::string_view why{};          // it was chosen as the main loop; empty: explicit markers
  std::uint32_t turns_before = 0;  // iterations before it was chosen
  bool by_time = false;            // its iterations are intervals of time
  double work_share = 0;           // share of these iterations in the run's work so far; 0: unknown
};

class ProgramEvents {
 public:
  virtual ~ProgramEvents() = default;
  // Throws Error{invalid} if the hint is malformed.
  virtual void on_hint(const ProgramHint&) {}
  virtual void on_object_added(const NewObject&) {}
  // Requires: the object's memory is still mapped.
  virtual void on_object_removed(ObjectId) {}
  virtual void on_loop_begin(const NewLoop&) {}
  // The loop's phases have ended; its coverage follows, then on_loop_end(). Not recorded.
  virtual void on_loop_ending() {}
  virtual void on_loop_end() {}
  virtual void on_phase_begin(std::string_view /*name*/) {}
  // `is_late`: the phase's begin or its end was reported late. Not recorded: the next event implies it.
  virtual void on_phase_end(bool /*is_late*/) {}
  // The program slept: time passes in every configuration.
  virtual void on_sleep(Seconds /*duration*/) {}
  // Total of untraced accesses so far, as in CountersRecord (profile/records.hpp).
  virtual void on_unobserved(std::uint64_t /*unseen*/, std::uint64_t /*dropped*/) {}
  // Coverage of the hooks so far: profile::CoverageRecord, encoded. It is a measurement and no part of the
  // program's behaviour: a replay copies it.
  virtual void on_coverage(std::span<const std::byte> /*record*/) {}
  // Candidates for the main loop: profile::LoopsRecord, encoded. A replay copies it, too.
  virtual void on_loop_candidates(std::span<const std::byte> /*record*/) {}
  // Statistics of the MPI calls: profile::MpiRecord, encoded. A replay copies it, too.
  virtual void on_mpi_statistics(std::span<const std::byte> /*record*/) {}
  virtual void on_note(std::string_view /*severity*/, std::string_view /*text*/) {}
  // Always the final event.
  virtual void on_finish(std::string_view /*how*/) {}
};

}  // namespace terrace::observe
