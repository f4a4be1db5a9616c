// What a program does beside its accesses, as its runtime understands it: objects, loops and phases by whatever
// source, sleeps, what nobody followed, the end. The runtime tells of each event when it has happened, so whatever
// accesses it brought to the sinks came before it. Whoever hears all of this and every quantum of an AccessSink
// can have the same happen again in other configurations: none of it depends on where data resides.
//
// Calls come one at a time. A new kind of event is a new function here, and in those who write events down and
// read them back (src/tiering/sim/recording_*).
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
  std::string_view name;  // as the front door gave it; objects may share one
  ObjectKind kind;
  std::uint64_t address = 0;
  Bytes size;
  ObjectId id = 0;          // that it got
  ChunkId first_chunk = 0;  // and its chunks
  std::uint32_t chunks = 0;
};

// What the program says of itself (strategy/hints/hints.hpp).
struct ProgramHint {
  enum class What : std::uint8_t { value, references, uses, spares };
  What what = What::value;
  std::string_view of;    // the value's name; the object's; the phase's
  std::string_view says;  // the expression; the object that the phase uses or spares
  double value = 0;
};

struct NewLoop {
  std::string_view name;
  std::string_view why{};          // it was taken for the main loop, where nobody said so
  std::uint32_t turns_before = 0;  // that it had made when it was
  bool by_time = false;            // its iterations are intervals of time
  double work_share = 0;           // of the run so far, that the turns before did; 0: unknown
};

class ProgramEvents {
 public:
  virtual ~ProgramEvents() = default;
  virtual void hinted(const ProgramHint& hint) = 0;
  virtual void object_added(const NewObject& object) = 0;
  virtual void object_removed(ObjectId object) = 0;
  virtual void loop_begun(const NewLoop& loop) = 0;
  virtual void loop_ended() = 0;
  virtual void phase_begun(std::string_view name) = 0;
  // Time that passed in every configuration because the program wanted it to.
  virtual void slept(Seconds duration) = 0;
  // Accesses so far that nobody followed, as CountersRecord has them (records.hpp).
  virtual void unobserved(std::uint64_t unseen, std::uint64_t dropped) = 0;
  // What the hooks have reached so far: profile::CoverageRecord, encoded. It was measured, and is no part of what
  // the program did: who prices it again keeps it as it is.
  virtual void covered(std::span<const std::byte> record) = 0;
  // What could have been the main loop: profile::LoopsRecord, encoded. It is kept as it is, too.
  virtual void loops_seen(std::span<const std::byte> record) = 0;
  virtual void noted(std::string_view severity, std::string_view text) = 0;
  // The last one.
  virtual void finished(std::string_view how) = 0;
};

}  // namespace terrace::observe
