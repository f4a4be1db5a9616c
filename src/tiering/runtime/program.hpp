// A running program as its configurations hear of it: objects cut into chunks, the main loop's iterations and
// phases, the accesses between them. Every event goes to every configuration in the order in which it comes in
// here, and to who records the run.
//
// Events come one at a time: who calls holds a lock, or is alone. An event that ends something (a phase, an
// object) comes when all accesses before it have come. Nothing here asks for accesses or calls back.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/configuration.hpp"
#include "runtime/iteration_sampling.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/recurring.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

class Program {
 public:
  explicit Program(RuntimeParts parts);

  ObjectId add_object(std::string_view name, observe::ObjectKind kind, std::uint64_t address, Bytes size);
  void grow_object(ObjectId id, Bytes size);
  void remove_object(ObjectId id);
  [[nodiscard]] bool is_live(ObjectId id) const { return id < objects_.size() && objects_[id].live; }
  // Throws Error{invalid} for a hint that makes no sense.
  void hinted(const observe::ProgramHint& hint);

  void loop_begun(const observe::NewLoop& loop);
  void hold_sampling(bool held) { sampling_.hold(held); }
  void loop_ended();
  // `is_late`: it began, and the one before it ended, earlier than now.
  void phase_begun(std::string_view name, bool is_late = false);
  // Begins to observe now if the next iteration will be observed. phase_begun() is called too late for code that
  // has no events until it is observed.
  void expect_iteration();
  [[nodiscard]] bool in_loop() const { return tracker_.in_loop(); }
  // The configurations have priced a quantum of that many accesses.
  void progressed(std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // The program is about to have more than one thread: nothing is left out from now on.
  void several_threads();

  [[nodiscard]] Seconds now() { return configurations_.front().now(); }
  [[nodiscard]] std::string object_name(ObjectId id) const {
    return id < objects_.size() ? objects_[id].name : std::string();
  }
  [[nodiscard]] bool is_own_mapping(ObjectId id) const {
    return id < objects_.size() && objects_[id].kind == observe::ObjectKind::mapping;
  }
  [[nodiscard]] const char* where(std::uint64_t address) const;
  void note(std::string_view severity, std::string_view text);
  // In the configurations' journals alone: it is no part of what the program did.
  void warn_configurations(std::string_view text) {
    for (auto& configuration : configurations_) configuration.note("warning", text);
  }
  void loops_seen(const profile::LoopsRecord& loops);
  void finish(std::string_view how);

 private:
  void end_phase(bool is_late = false);
  void observe(bool wanted);
  void observe_everything();
  [[nodiscard]] bool any_listens() const;
  std::string unique_name(std::string_view name);
  void map_chunks(const ObjectMemory& memory, std::string_view name);
  void write_coverage();

  RuntimeParts parts_;
  std::vector<observe::Object> objects_;  // by id
  std::deque<Configuration> configurations_;
  std::vector<std::uint64_t> addresses_;  // by id
  std::vector<std::uint64_t> stand_for_;  // by id: canonical addresses
  Recurring recurring_;
  std::unordered_map<std::string, std::uint32_t> names_;
  ChunkId next_chunk_ = 0;
  PhaseTracker tracker_;
  IterationSampling sampling_;
  bool phase_is_late_ = false;  // it began earlier than was heard of
  bool phase_observed_ = true;  // this phase, from its first access on
};

}  // namespace terrace::runtime
