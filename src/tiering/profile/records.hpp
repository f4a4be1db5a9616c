// SPDX-License-Identifier: Apache-2.0
// Defines the records of the journal (the file that each process writes while it runs) and their encoding: the
// runtime encodes them, the merge (store/) decodes them.
//
// Compatibility: fields are only appended to a record. A reader leaves missing fields at their defaults and
// ignores extra ones. Values nested in a record (an object, a phase, a cell) never change: additions become a new
// field of the record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/journal.hpp"
#include "core/plan.hpp"
#include "core/units.hpp"
#include "profile/profile.hpp"

namespace terrace::profile {

enum class RecordType : std::uint16_t {
  run = 1,
  object = 2,
  object_end = 3,
  loop = 4,
  loop_end = 5,
  phase = 6,
  iteration = 7,
  moves = 8,
  plan = 9,
  note = 10,
  counters = 11,
  end = 12,
  machine = 13,
  calibration = 14,
  transfers = 15,
  coverage = 16,
  core_time = 17,
  spill = 18,
  proof = 19,
  levels = 20,
  loops = 21,
  mpi = 22
};

struct RunRecord {  // first in every journal
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  std::int64_t started_unix_ns = 0;
  std::string host;
  std::string program;  // path of the executable
  std::vector<std::string> arguments;
  std::string backend;  // "virtual", "real"
  std::string mode;     // "record", "run", "simulate"
  std::string planner;
  std::string budget;  // as the user gave it
  InitiatorId initiator = 0;
  double cores = 1;
  Seconds sample_interval;
  bool core_time_fitted = false;      // virtual time: core time fitted to the program, not the machine's
  std::string progress = "accesses";  // progress measure that delimits segments (observe/progress_variant.hpp)
  std::string core_time_from{};       // source of the fit, or reason why a requested fit was not made
  std::int32_t rank = -1;             // in the MPI job; -1: none
  std::uint32_t ranks = 0;            // of the MPI job
};
struct ObjectRecord {
  observe::Object object;
  Seconds at;
  std::vector<PlaceId> places;  // by chunk of the object
  std::uint64_t address = 0;    // of its first byte, in this process
};
struct ObjectEndRecord {
  ObjectId object = 0;
  Seconds at;
};
struct LoopRecord {
  std::string name;
  Seconds at;
  std::string why{};                // reason for its detection as main loop; empty: marked by the program
  std::uint32_t turns_before = 0;   // iterations before its detection
  std::uint64_t misses_before = 0;  // of the run, at its detection
};
struct LoopEndRecord {
  Seconds at;
  std::uint32_t iterations = 0;
  std::uint32_t observed = 0;  // of them, completely; the others' phases count as the last observed ones
  std::uint64_t misses = 0;    // of the run
};
struct PhaseRecord {  // written at the end of a phase
  std::uint32_t iteration = 0;
  PhaseIndex index = 0;
  std::string name;
  Seconds begun;
  Seconds ended;
  Seconds waited;        // for transfers, within the phase's time
  bool observed = true;  // false: accesses not observed; the time is that of the last observed instance
};
struct CoreTimeRecord {  // for phases with an instruction time of their own, at the begin of the first such phase
  std::string phase;
  Seconds instruction;
};
struct IterationRecord {
  bool exact = false;
  observe::Iteration iteration;
  // Places by chunk of the run, at the begin of the iteration. Empty: as in the run's previous record.
  std::vector<PlaceId> places;
  bool anew = false;  // the program's behaviour differs from the iterations profiled before
};
// A move that a plan requests in each iteration.
struct Move {
  ObjectId object = 0;
  std::uint32_t first = 0;  // chunk within the object
  std::uint32_t chunks = 0;
  PhaseIndex ask = 0, need = 0;
  PlaceId to = 0;
  Bytes size;
  Seconds benefit, cost;  // predicted
};
struct MovesRecord {  // written before the first transfers of these moves
  std::vector<Move> moves;
};
// An execution of a move, or its refusal.
struct Transfer {
  std::uint32_t move = 0;  // index into all moves of the journal's MovesRecords
  std::uint32_t iteration = 0;
  PlaceId from = 0;
  bool refused = false;
  Bytes size;
  Seconds asked, begun, done, waited;
};
struct TransfersRecord {
  std::vector<Transfer> transfers;
};
struct PlanRecord {
  Plan plan;
  Seconds at;
  std::string why;
};
// Measured effect of a plan, written at the end of its loop: medians of complete iterations without and with it,
// their numbers, and the predictions (0: unknown).
struct ProofRecord {
  Seconds at, without, with;
  std::uint32_t iterations_without = 0, iterations_with = 0;
  Seconds predicted_unplaced, predicted;
  bool undone = false;    // the plan was slower and was reverted
  bool is_noise = false;  // the two medians differ by no more than iterations do by chance
};
// Prefix of the note on a program without instrumentation hooks.
inline constexpr std::string_view k_no_access = "no access was seen";
// Complete text of that note where no policy needed accesses.
inline constexpr std::string_view k_no_access_needed = "no access was seen; this run needs no profile";
// Prefix of the note that states the source of phases.
inline constexpr std::string_view k_phases_from = "phases: ";

struct NoteRecord {
  std::string severity;
  std::string text;
  Seconds at;
};                       // "note", "warning"
struct CountersRecord {  // totals of the process so far; the last record is valid
  std::uint64_t accesses = 0, instructions = 0, misses = 0;
  std::uint64_t unseen = 0;   // while Terrace ran in the same thread (signal handlers); not in `accesses`
  std::uint64_t dropped = 0;  // of `accesses`: to memory of no object, not processed further
  Seconds core, exposed, bandwidth_bound, stalled, waited, charged;
};
// Use of a cache level beyond the first, or of a place, in virtual time (sim/engine/level_use_counters.hpp).
struct LevelUse {
  std::string name;
  double accesses = 0;  // accesses that reached it
  Seconds hit, miss;    // active time: hit phases and pure-miss time
};
struct LevelsRecord {  // totals of the simulated part of the process so far; the last record is valid
  std::vector<LevelUse> levels;
};
// A candidate for the main loop, on the program's first thread (runtime/loop_candidates.hpp).
struct LoopCandidate {
  std::string name;
  bool is_taken = false;  // was the main loop at some time
  double begins_at = 0;   // share of the run's work before its first entry
  double share = 0;       // share of the run's work, callees and inner loops included
  std::uint64_t visits = 0;
  std::uint64_t turns = 0;  // iterations of all visits
  std::string verdict;      // reason why it was not profiled; empty: it was
};
struct LoopsRecord {  // of the whole process; the last record is valid
  std::vector<LoopCandidate> loops;
};
// Outermost calls of one MPI function by the program (agent/mpi_monitor/mpi_statistics.hpp).
struct MpiFunctionUse {
  std::string name;  // in C, without MPI_
  std::uint64_t calls = 0;
  Seconds time;                          // real time inside the calls, summed over threads
  std::uint64_t sent = 0, received = 0;  // bytes, as the arguments have it
};
// Point-to-point messages sent to one rank, of one size class.
struct MpiMessages {
  static constexpr std::int32_t k_other = -1;
  std::int32_t peer = k_other;  // rank in MPI_COMM_WORLD; k_other: unknown, or not counted separately
  std::uint8_t size_class = 0;  // 0: empty messages; k: at least 2^(k-1) bytes, less than 2^k
  std::uint64_t messages = 0, bytes = 0;
};
// Memory that the MPI library has allocated for itself (agent/mpi_objects/mpi_object_placer.hpp): objects of one
// row of its table in one place. Of shared objects the process's own part.
struct MpiObjectUse {
  std::string library;  // "MPICH 4.0.2"
  std::string kind;     // strategy::MpiObjectKind: "pools"
  std::string object;   // "pools of sysv"
  std::string place;    // where they are bound; "": where the library has put them
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;      // at most at one time
  std::uint64_t elsewhere = 0;  // bytes that the kernel did not bind, or whose pages it did not move
};
struct MpiRecord {  // of the whole process; the last record is valid
  std::vector<MpiFunctionUse> functions;
  std::vector<MpiMessages> messages;
  std::vector<MpiObjectUse> objects{};
};
// Cumulative statistics of a process's out-of-core memory (docs/how-to/out-of-core.md).
struct FileIoTotals {
  Bytes read{}, written{};          // file I/O
  std::uint64_t prefetched = 0;     // chunks read before their access
  std::uint64_t demanded = 0;       // chunks read on a fault
  std::uint64_t wasted = 0;         // prefetched chunks evicted before an access
  std::uint64_t clean = 0;          // chunks evicted without a write
  std::uint64_t touches = 0;        // observed accesses
  Seconds waited;                   // total wait of the program's threads
  Bytes content{}, max_content{};   // of chunks, now and maximum
  Bytes limit{};                    // of resident chunks, now
  Bytes kernel_paged{};             // handed over to kernel paging
  Bytes min_read{}, min_written{};  // lower bounds of any schedule's I/O
  Seconds min_time;                 // device time of these lower bounds
  Seconds predicted, measured;      // time of threads' segments, predicted at their begin and measured
};
// These statistics at the begin of an iteration, at the end of the loop, and at the end of the process.
struct SpillRecord {
  static constexpr std::uint32_t k_none = 0xffffffff;
  std::uint32_t iteration = k_none;  // iteration that begins here
  Seconds at;
  FileIoTotals account{};
};
// Coverage of the process by instrumentation hooks so far; the last record is valid. Measured in real time, so
// that it differs between runs.
struct CodeCoverage {
  std::string path;  // path of a loaded file, or a description in brackets
  bool hooks = false;
  Seconds in_loop,
      elsewhere;  // sampled processor time of the program's threads, without Terrace's own work
};
struct CoverageRecord {
  Seconds sample_period;    // 0: not sampled
  std::string not_sampled;  // reason why not
  std::vector<CodeCoverage> code;
  double heap = 0, heap_uncovered = 0;  // mean bytes over the time in main loops, else over the whole time
  std::vector<observe::UncoveredObject> objects;  // the largest ones
};
struct EndRecord {
  Seconds at;
  std::string how;
};  // "exit", "exec", "quick", k_confined, k_limited
// Values of `how` for a program that runs on without Terrace: it installed a system call filter, or limited its
// address space.
inline constexpr std::string_view k_confined = "confined", k_limited = "limited";
struct MachineRecord {
  std::string blob;
};  // Machine::to_blob, as passed by the launcher
struct CalibrationRecord {
  std::string blob;
};  // Calibration::to_blob: constants of the predictions

// One pair of functions for each record. decode() throws Error{corrupt} for malformed bytes.
void encode(BlobWriter& out, const RunRecord& record);
void encode(BlobWriter& out, const ObjectRecord& record);
void encode(BlobWriter& out, const ObjectEndRecord& record);
void encode(BlobWriter& out, const LoopRecord& record);
void encode(BlobWriter& out, const LoopEndRecord& record);
void encode(BlobWriter& out, const PhaseRecord& record);
void encode(BlobWriter& out, const CoreTimeRecord& record);
void encode(BlobWriter& out, const ProofRecord& record);
void encode(BlobWriter& out, const IterationRecord& record);
void encode(BlobWriter& out, const MovesRecord& record);
void encode(BlobWriter& out, const TransfersRecord& record);
void encode(BlobWriter& out, const PlanRecord& record);
void encode(BlobWriter& out, const NoteRecord& record);
void encode(BlobWriter& out, const CountersRecord& record);
void encode(BlobWriter& out, const LevelsRecord& record);
void encode(BlobWriter& out, const LoopsRecord& record);
void encode(BlobWriter& out, const MpiRecord& record);
void encode(BlobWriter& out, const SpillRecord& record);
void encode(BlobWriter& out, const CoverageRecord& record);
void encode(BlobWriter& out, const EndRecord& record);
void encode(BlobWriter& out, const MachineRecord& record);
void encode(BlobWriter& out, const CalibrationRecord& record);
void decode(BlobReader& in, RunRecord& record);
void decode(BlobReader& in, ObjectRecord& record);
void decode(BlobReader& in, ObjectEndRecord& record);
void decode(BlobReader& in, LoopRecord& record);
void decode(BlobReader& in, LoopEndRecord& record);
void decode(BlobReader& in, PhaseRecord& record);
void decode(BlobReader& in, CoreTimeRecord& record);
void decode(BlobReader& in, ProofRecord& record);
void decode(BlobReader& in, IterationRecord& record);
void decode(BlobReader& in, MovesRecord& record);
void decode(BlobReader& in, TransfersRecord& record);
void decode(BlobReader& in, PlanRecord& record);
void decode(BlobReader& in, NoteRecord& record);
void decode(BlobReader& in, CountersRecord& record);
void decode(BlobReader& in, LevelsRecord& record);
void decode(BlobReader& in, LoopsRecord& record);
void decode(BlobReader& in, MpiRecord& record);
void decode(BlobReader& in, SpillRecord& record);
void decode(BlobReader& in, CoverageRecord& record);
void decode(BlobReader& in, EndRecord& record);
void decode(BlobReader& in, MachineRecord& record);
void decode(BlobReader& in, CalibrationRecord& record);

template <class Record>
inline constexpr RecordType k_record_type = RecordType::run;
template <>
inline constexpr RecordType k_record_type<ObjectRecord> = RecordType::object;
template <>
inline constexpr RecordType k_record_type<ObjectEndRecord> = RecordType::object_end;
template <>
inline constexpr RecordType k_record_type<LoopRecord> = RecordType::loop;
template <>
inline constexpr RecordType k_record_type<LoopEndRecord> = RecordType::loop_end;
template <>
inline constexpr RecordType k_record_type<PhaseRecord> = RecordType::phase;
template <>
inline constexpr RecordType k_record_type<ProofRecord> = RecordType::proof;
template <>
inline constexpr RecordType k_record_type<CoreTimeRecord> = RecordType::core_time;
template <>
inline constexpr RecordType k_record_type<IterationRecord> = RecordType::iteration;
template <>
inline constexpr RecordType k_record_type<MovesRecord> = RecordType::moves;
template <>
inline constexpr RecordType k_record_type<TransfersRecord> = RecordType::transfers;
template <>
inline constexpr RecordType k_record_type<PlanRecord> = RecordType::plan;
template <>
inline constexpr RecordType k_record_type<NoteRecord> = RecordType::note;
template <>
inline constexpr RecordType k_record_type<CountersRecord> = RecordType::counters;
template <>
inline constexpr RecordType k_record_type<LevelsRecord> = RecordType::levels;
template <>
inline constexpr RecordType k_record_type<LoopsRecord> = RecordType::loops;
template <>
inline constexpr RecordType k_record_type<MpiRecord> = RecordType::mpi;
template <>
inline constexpr RecordType k_record_type<SpillRecord> = RecordType::spill;
template <>
inline constexpr RecordType k_record_type<CoverageRecord> = RecordType::coverage;
template <>
inline constexpr RecordType k_record_type<EndRecord> = RecordType::end;
template <>
inline constexpr RecordType k_record_type<MachineRecord> = RecordType::machine;
template <>
inline constexpr RecordType k_record_type<CalibrationRecord> = RecordType::calibration;

template <class Record>
void append(Journal& journal, const Record& record) {
  BlobWriter out;
  encode(out, record);
  journal.append(static_cast<std::uint16_t>(k_record_type<Record>), out.bytes());
}

}  // namespace terrace::profile
