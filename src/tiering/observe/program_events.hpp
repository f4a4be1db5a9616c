// SPDX-License-Identifier: Apache-2.0
// Interface for the events of a program other than accesses: objects, loops and phases from any source, sleeps,
// counts of untraced accesses, the end. The runtime reports each event after it has happened, so all accesses
// before it are with the sinks. Invariant: no event depends on where data resides, so a listener of these events
// and of all quanta (AccessSink) can replay the run in other configurations.
//
// Calls are serialised. A new kind of event is a new function here, and in the writer and the reader of recordings
// (src/tiering/sim/recording).
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
  virtual void hinted(const ProgramHint& hint) = 0;
  virtual void on_object_added(const NewObject& object) = 0;
  virtual void on_object_removed(ObjectId object) = 0;
  virtual void on_loop_begin(const NewLoop& loop) = 0;
  virtual void on_loop_end() = 0;
  virtual void on_phase_begin(std::string_view name) = 0;
  // The program slept: time passes in every configuration.
  virtual void slept(Seconds duration) = 0;
  // Total of untraced accesses so far, as in CountersRecord (profile/records.hpp).
  virtual void unobserved(std::uint64_t unseen, std::uint64_t dropped) = 0;
  // Coverage of the hooks so far: profile::CoverageRecord, encoded. It is a measurement and no part of the
  // program's behaviour: a replay copies it.
  virtual void covered(std::span<const std::byte> record) = 0;
  // Candidates for the main loop: profile::LoopsRecord, encoded. A replay copies it, too.
  virtual void on_loop_candidates(std::span<const std::byte> record) = 0;
  virtual void noted(std::string_view severity, std::string_view text) = 0;
  // Always the final event.
  virtual void finished(std::string_view how) = 0;
};

}  // namespace terrace::observe
