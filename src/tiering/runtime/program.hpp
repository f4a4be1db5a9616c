// SPDX-License-Identifier: Apache-2.0
// Implements the program as its configurations see it: objects cut into chunks, the main loop's iterations and
// phases, and the accesses between them. Runtime owns it and passes it all events. Every event goes to the
// listeners in one order: the configurations, then RuntimeParts::listeners (the coverage, the recorder).
//
// Not thread-safe: the caller holds the program lock. Invariant: an event that ends something (a phase, an object)
// comes after all accesses that precede it. Nothing here requests accesses or calls back.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/address_reuse.hpp"
#include "runtime/configuration.hpp"
#include "runtime/iteration_sampling.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

class Program {
 public:
  explicit Program(RuntimeParts parts);

  ObjectId add_object(std::string_view name, observe::ObjectKind kind, std::uint64_t address, Bytes size,
                      bool is_at_home = false);
  void grow_object(ObjectId id, Bytes size);
  // Returns whether its memory was where it would be without Terrace.
  bool remove_object(ObjectId id);
  [[nodiscard]] bool is_live(ObjectId id) const { return id < objects_.size() && objects_[id].live; }
  // Throws Error{invalid} if the hint is malformed.
  void on_hint(const observe::ProgramHint& hint);

  void on_loop_begin(const observe::NewLoop& loop);
  void set_observe_all_iterations(bool all) { sampling_.set_observe_all(all); }
  void on_loop_end();
  // `is_late`: the phase began, and the one before it ended, earlier than now.
  void on_phase_begin(std::string_view name, bool is_late = false);
  // Enables observation now if the next iteration will be observed. on_phase_begin() would be too late for code
  // that reports no events while it is not observed.
  void expect_iteration();
  [[nodiscard]] bool in_loop() const { return tracker_.in_loop(); }
  // Reports that the configurations have priced a quantum of `accesses`.
  void on_progress(std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // Observes every iteration from now on: the program is about to create its second thread.
  void on_multithreaded();

  [[nodiscard]] Seconds now() { return configurations_.front().now(); }
  [[nodiscard]] std::string object_name(ObjectId id) const {
    return id < objects_.size() ? objects_[id].name : std::string();
  }
  [[nodiscard]] bool is_own_mapping(ObjectId id) const {
    return id < objects_.size() && objects_[id].kind == observe::ObjectKind::mapping;
  }
  [[nodiscard]] const char* where(std::uint64_t address) const;
  void note(std::string_view severity, std::string_view text);
  // Writes to the configurations' journals alone: the text is no event of the program.
  void warn_configurations(std::string_view text) {
    for (auto& configuration : configurations_) configuration.on_note("warning", text);
  }
  void on_loop_candidates(const profile::LoopsRecord& loops);
  void on_mpi_statistics(const profile::MpiRecord& mpi);
  void finish(std::string_view how);

 private:
  // Calls `event` of each listener.
  template <class... Parameters, class... Arguments>
  void notify(void (observe::ProgramEvents::*event)(Parameters...), const Arguments&... arguments);
  template <class Record>
  void notify_encoded(void (observe::ProgramEvents::*event)(std::span<const std::byte>), const Record& record);
  void set_observed(bool wanted);
  void stop_sampling();
  [[nodiscard]] bool any_wants_accesses() const;
  std::string unique_name(std::string_view name);
  void map_chunks(const observe::Object& object, std::uint64_t address, std::string_view name);
  void report_coverage();

  RuntimeParts parts_;
  std::vector<observe::Object> objects_;  // by id
  PhaseTracker tracker_;
  IterationSampling sampling_;
  std::deque<Configuration> configurations_;  // refers to the three members above
  std::vector<observe::ProgramEvents*> listeners_;
  std::vector<std::uint64_t> addresses_;        // by id
  std::vector<std::uint64_t> representatives_;  // by id: canonical addresses (address_reuse.hpp)
  AddressReuse address_reuse_;
  std::unordered_map<std::string, std::uint32_t> names_;
  ChunkId next_chunk_ = 0;
  bool phase_is_late_ = false;  // it began earlier than it was reported
};

}  // namespace terrace::runtime
