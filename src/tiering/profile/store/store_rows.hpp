// The rows that one journal's records become.
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
  // Begins the run's row; its records fill it.
  RunRows(Database& database, const std::string& journal);

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
  void add(const TransfersRecord& record);  // Error{corrupt} for a move that no record has named
  void add(const PlanRecord& record);
  void add(const NoteRecord& record);
  void add(const CountersRecord& record);
  void add(const LevelsRecord& record);
  void add(const LoopsRecord& record);
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
  std::int64_t spills_ = 0;  // records of them so far
  std::int64_t loop_ = -1;   // number of the loop that the records belong to; -1 before the first

  std::vector<Move> moves_;      // named so far
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

// Writes a machine's tables, once for each machine; returns its row.
std::int64_t add_machine(Database& database, const std::string& blob);

std::string kind_name(observe::ObjectKind kind);
observe::ObjectKind parse_kind(const std::string& name);

}  // namespace terrace::profile
