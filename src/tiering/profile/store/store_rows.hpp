// SPDX-License-Identifier: Apache-2.0
// Converts the records of one journal to rows of the store. The merge has one for each journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/journal.hpp"
#include "profile/records.hpp"
#include "profile/store/store_database.hpp"

namespace terrace::profile {

class RunRows {
 public:
  // Inserts the run's row; add() completes it. `job`: name of the MPI job (merge_journals), or "".
  RunRows(Database& database, const std::string& journal, const std::string& job);

  void add(const RunRecord& record);
  void add(const ObjectRecord& record);
  void add(const ObjectEndRecord& record);
  void add(const LoopRecord& record);
  void add(const LoopEndRecord& record);
  void add(const PhaseRecord& record);
  void add(const CoreTimeRecord& record);
  void add(const ProofRecord& record);
  void add(const IterationRecord& record);
  void add(const MovesRecord& record);
  void add(const TransfersRecord& record);  // throws Error{corrupt} for an unknown move
  void add(const PlanRecord& record);
  void add(const NoteRecord& record);
  void add(const CountersRecord& record);
  void add(const LevelsRecord& record);
  void add(const LoopsRecord& record);
  void add(const MpiRecord& record);
  void add(const SpillRecord& record);
  void add(const CoverageRecord& record);
  void add(const EndRecord& record);
  void add(const MachineRecord& record);
  void add(const CalibrationRecord& record);
  void finish(const JournalEnd& end);

  [[nodiscard]] std::int64_t id() const { return id_; }
  [[nodiscard]] std::uint32_t process() const { return process_; }
  [[nodiscard]] std::string program() const { return program_.empty() ? "" : " (" + program_ + ")"; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  Database& database_;
  std::int64_t id_ = 0;
  std::uint32_t process_ = 0;
  std::string program_;
  bool ended_ = false;
  std::int64_t spills_ = 0;  // number of SpillRecords so far
  std::int64_t loop_ = -1;   // index of the current loop; -1 before the first

  std::vector<Move> moves_;      // of MovesRecords so far
  std::vector<PlaceId> places_;  // by chunk, of the last iteration

  Statement object_;
  Statement object_places_;
  Statement phase_instance_;
  Statement iteration_;
  Statement phase_;
  Statement cell_;
  Statement chunk_place_;
  Statement move_;
};

// Inserts a machine's rows, once for each distinct machine. Returns its id.
std::int64_t add_machine(Database& database, const std::string& blob);

std::string kind_name(observe::ObjectKind kind);
// Throws Error{corrupt} for an unknown kind; `store`: the file, for its message.
observe::ObjectKind parse_kind(const std::string& name, const std::string& store);

}  // namespace terrace::profile
