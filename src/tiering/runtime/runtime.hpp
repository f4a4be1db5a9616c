// SPDX-License-Identifier: Apache-2.0
// Implements the runtime: it follows the objects and phases of a running program, profiles the first iteration of
// the main loop, plans, moves data and adapts the plan.
//
// The runtime depends on the interfaces Clock, Provider and Mover alone, so it runs unchanged on a real machine
// and on a simulated one. The agent (interposers, adapters, API, monitors) and `terrace replay` call it. Every
// function is thread-safe, never throws and, after an internal failure, lets the program continue unmanaged.
// Exceptions are marked "Requires: program lock": the caller holds RuntimeParts::mutex.
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
struct MpiRecord;    // records.hpp
}  // namespace terrace::profile

namespace terrace::runtime {

struct PhaseBoundary;  // phase_source.hpp
struct RuntimeParts;   // runtime_parts.hpp

class Runtime {
 public:
  explicit Runtime(RuntimeParts parts);
  ~Runtime();

  // Registers an object at [address, address + size). Page-aligned memory gets chunks of its own; the caller
  // groups objects that share pages. `name` need not be unique: the second object of a name becomes "name#2".
  // Returns the object's number, for remove_object(). `is_at_home`: the memory has belonged to an object for which
  // remove_object() returned true, and has not changed since.
  ObjectId add_object(std::string_view name, observe::ObjectKind kind, const void* address, Bytes size,
                      bool is_at_home = false) noexcept;
  // Extends an object in place (the heap of small blocks): the new part becomes a further object of its name.
  void grow_object(ObjectId object, Bytes size) noexcept;
  // Returns whether its memory was where it would be without Terrace.
  bool remove_object(ObjectId object) noexcept;

  // Takes a hint of the program about its objects and phases. Returns why it was rejected; empty if it was
  // accepted.
  std::string on_hint(const observe::ProgramHint& hint) noexcept;

  void loop_begin(std::string_view name) noexcept;
  void loop_begin(const observe::NewLoop& loop) noexcept;
  void loop_end() noexcept;
  void phase(std::string_view name) noexcept;
  // Reports the entry of a watched function (phases by function entry), or of any function during loop detection.
  void function_entered(std::uint64_t function, std::uint64_t call_site) noexcept;

  // Reports a boundary that a detector of loops or phases found. Ignored once the program uses explicit markers.
  void on_phase_boundary(const PhaseBoundary& boundary) noexcept;
  // Returns whether detected boundaries still count.
  [[nodiscard]] bool is_detecting_loops() noexcept;

  // Reports that the configurations have priced the quantum. Requires: program lock.
  void on_quantum(const observe::Quantum& quantum) noexcept;
  // Reports that the program is about to create its second thread: every iteration is observed from now on. Called
  // by the creating thread.
  void on_multithreaded() noexcept;

  [[nodiscard]] Seconds now() noexcept;
  // Returns "" for an unknown number. Requires: program lock.
  [[nodiscard]] std::string object_name(ObjectId id) noexcept;
  // Returns whether the object is a mapping that the program made itself. Requires: program lock.
  [[nodiscard]] bool is_own_mapping(ObjectId id) noexcept;
  // Returns the name of the place where the byte resides, or nullptr if unknown.
  [[nodiscard]] const char* where(const void* address) noexcept;
  void note(std::string_view severity, std::string_view text) noexcept;
  // Writes what could have been the main loop to the journals. Requires: finish() was not called.
  void on_loop_candidates(const profile::LoopsRecord& loops) noexcept;
  // Writes statistics of the program's MPI calls to the journals. Requires: finish() was not called.
  void on_mpi_statistics(const profile::MpiRecord& mpi) noexcept;
  // Ends management, because the process is about to exit ("exit"), to become another program ("exec"), or is no
  // longer managed ("confined"). Later calls are ignored.
  void finish(std::string_view how) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::runtime
