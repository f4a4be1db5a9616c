// The runtime: objects and phases of a running program; profiles the first iteration, plans, moves, adapts. It
// asks the Clock for the time, the Provider and the Mover for memory, and cannot tell a real machine from a
// simulated one. The front doors call it; all calls are safe from any thread and never throw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "profile/profile.hpp"

namespace terrace::observe {
struct NewLoop;
struct ProgramHint;
struct Quantum;
}  // namespace terrace::observe
namespace terrace::profile {
struct LoopsRecord;  // records.hpp
}  // namespace terrace::profile

namespace terrace::runtime {

struct Boundary;      // phase_source.hpp
struct RuntimeParts;  // runtime_parts.hpp: what it is made of

class Runtime {
 public:
  explicit Runtime(RuntimeParts parts);
  ~Runtime();

  // A new object at [address, address + size). Page-aligned memory becomes chunks of its own; what shares its
  // pages with others is for the caller to group. `name` need not be unique: the second of a name becomes
  // "name#2". Returns its number, which is also what `remove_object` takes.
  ObjectId add_object(std::string_view name, observe::ObjectKind kind, const void* address, Bytes size) noexcept;
  // The object has grown in place (the heap of small blocks): what is new becomes a further object of its name.
  void grow_object(ObjectId object, Bytes size) noexcept;
  void remove_object(ObjectId object) noexcept;

  // What the program says of its objects and phases. In words why it is not understood; empty where it is.
  std::string hinted(const observe::ProgramHint& hint) noexcept;

  void loop_begin(std::string_view name) noexcept;
  void loop_begin(const observe::NewLoop& loop) noexcept;
  void loop_end() noexcept;
  void phase(std::string_view name) noexcept;
  // A watched function was entered (phases by function entry), or any function while phases are being looked for.
  void function_entered(std::uint64_t function, std::uint64_t call_site) noexcept;

  // What whoever looks for loops and phases has found.
  void pass(const Boundary& boundary) noexcept;
  // Whether that counts: not once the program has marked its loop itself.
  [[nodiscard]] bool looks_for_loops() noexcept;

  // The quantum has gone to the configurations. For who holds the program's lock (RuntimeParts::mutex).
  void progressed(const observe::Quantum& quantum) noexcept;
  // The program is about to have more than one thread: nothing is left out from now on. For the thread that runs.
  void several_threads() noexcept;

  [[nodiscard]] Seconds now() noexcept;
  // "" where there is none of that number. The caller holds the program's lock.
  [[nodiscard]] std::string object_name(ObjectId id) noexcept;
  // A mapping that the program has made itself. The caller holds the program's lock.
  [[nodiscard]] bool is_own_mapping(ObjectId id) noexcept;
  // The place's name where the byte is, nullptr when it is not known.
  [[nodiscard]] const char* where(const void* address) noexcept;
  void note(std::string_view severity, std::string_view text) noexcept;
  // Writes what could have been the main loop to the journals. Requires: finish() was not called.
  void loops_seen(const profile::LoopsRecord& loops) noexcept;
  // The process is about to end ("exit"), to become another program ("exec"), or is left
  // alone from here on ("confined").
  void finish(std::string_view how) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::runtime
