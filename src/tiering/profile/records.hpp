// The journal's records as values, with their encoding: the runtime encodes, the merger decodes. A field is only
// ever appended to a record, and a reader accepts records that end early by leaving the new fields at their
// defaults, and records that end late by leaving the rest unread. Values inside of a record (an object, a phase, a
// cell) never change: what they gain is appended to the record, as one more field.
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
  loops = 21
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
  std::string budget;  // as given
  InitiatorId initiator = 0;
  double cores = 1;
  Seconds sample_interval;
  bool core_time_fitted = false;      // virtual time: core time is the program's own, not the machine's
  std::string progress = "accesses";  // what segments of phases are cut by (observe/progress_variant.hpp)
  std::string core_time_from{};       // what it rests on, or why it is the machine's, where that was asked for
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
  std::string why{};                // it was taken for the main loop; empty: the program says so
  std::uint32_t turns_before = 0;   // that it had made when it was
  std::uint64_t misses_before = 0;  // of the run
};
struct LoopEndRecord {
  Seconds at;
  std::uint32_t iterations = 0;
  std::uint32_t observed = 0;  // of them, whole; the others' phases count as the last ones that were observed
  std::uint64_t misses = 0;    // of the run
};
struct PhaseRecord {  // a phase that has ended
  std::uint32_t iteration = 0;
  PhaseIndex index = 0;
  std::string name;
  Seconds begun;
  Seconds ended;
  Seconds waited;        // for transfers, within the phase's time
  bool observed = true;  // false: its accesses were not, and its time is that of the last one that was
};
struct CoreTimeRecord {  // where some phases have times of their own: when the first of that name begins
  std::string phase;
  Seconds instruction;
};
struct IterationRecord {
  bool exact = false;
  observe::Iteration iteration;
  // By chunk of the run, when the iteration began. Empty where it is as in the run's record before.
  std::vector<PlaceId> places;
  bool anew = false;  // the program does something else than in those that were profiled before
};
// What a plan asks for, iteration after iteration.
struct Move {
  ObjectId object = 0;
  std::uint32_t first = 0;  // chunk within the object
  std::uint32_t chunks = 0;
  PhaseIndex ask = 0, need = 0;
  PlaceId to = 0;
  Bytes size;
  Seconds benefit, cost;  // predicted
};
struct MovesRecord {  // before the first transfers of these moves
  std::vector<Move> moves;
};
// A move that was carried out, or refused.
struct Transfer {
  std::uint32_t move = 0;  // of all that the journal's records of moves hold, by position
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
// What a plan was worth, when its loop is over: medians of whole iterations without and with it, and how many
// there were; what was predicted (0: unknown).
struct ProofRecord {
  Seconds at, without, with;
  std::uint32_t iterations_without = 0, iterations_with = 0;
  Seconds predicted_unplaced, predicted;
  bool undone = false;  // it was slower, and everything is at home again
};
// How the note of a program without hooks begins.
inline constexpr std::string_view k_no_access = "no access was seen";
// The whole of it, where nobody wanted to learn from accesses.
inline constexpr std::string_view k_no_access_needed = "no access was seen, and none was needed";
// And how the note begins that says what phases are made of.
inline constexpr std::string_view k_phases_from = "phases: ";

struct NoteRecord {
  std::string severity;
  std::string text;
  Seconds at;
};                       // "note", "warning"
struct CountersRecord {  // of the whole process so far; the last one counts
  std::uint64_t accesses = 0, instructions = 0, misses = 0;
  std::uint64_t unseen = 0;  // came while Terrace was at work in their thread (signal handlers): not in `accesses`
  std::uint64_t dropped = 0;  // of the accesses, those to memory that belongs to no object: they went no further
  Seconds core, exposed, bandwidth_bound, stalled, waited, charged;
};
// A cache beyond the first, or a place, in virtual time (sim/engine/memory_use.hpp).
struct LevelUse {
  std::string name;
  double accesses = 0;  // that reached it
  Seconds hit, miss;    // its active time: hit phase and pure-miss time
};
struct LevelsRecord {  // of the whole process so far, as far as it was simulated; the last one counts
  std::vector<LevelUse> levels;
};
// A loop of the program's first thread that could have been the main loop (runtime/loop_candidates.hpp).
struct LoopCandidate {
  std::string name;
  bool is_taken = false;  // for the main loop, if only for a while
  double begins_at = 0;   // share of the run's work that was done when it was first entered
  double share = 0;       // of the run's work, with all that it does inside
  std::uint64_t visits = 0;
  std::uint64_t turns = 0;  // of all visits
  std::string verdict;      // why the profile is not of it; empty: it is
};
struct LoopsRecord {  // of the whole process; the last one counts
  std::vector<LoopCandidate> loops;
};
// Data of a process in a file, since it began (docs/memory-over-a-file.md).
struct FileAccount {
  Bytes read{}, written{};              // of the file
  std::uint64_t foreseen = 0;           // chunks that were read before they were touched
  std::uint64_t demanded = 0;           // and after
  std::uint64_t wasted = 0;             // foreseen ones that left untouched
  std::uint64_t clean = 0;              // chunks that left as the file has them
  std::uint64_t touches = 0;            // that were noticed
  Seconds waited;                       // by threads of the program, in all
  Bytes content{}, most{};              // of chunks, now and at most
  Bytes limit{};                        // of chunks in memory, now
  Bytes given{};                        // that the kernel pages
  Bytes least_read{}, least_written{};  // what any schedule must move
  Seconds least_time;                   // of the device, for those
  Seconds predicted, measured;          // stretches of a thread, as predicted when each began, and as they were
};
// The same when an iteration begins, when the loop ends, and at the end.
struct SpillRecord {
  static constexpr std::uint32_t k_none = 0xffffffff;
  std::uint32_t iteration = k_none;  // that begins here
  Seconds at;
  FileAccount account{};
};
// How much of the process the hooks reached, so far; the last one counts. Measured in the run itself, never in
// virtual time: two runs differ.
struct CodeCoverage {
  std::string path;  // of a loaded file, or what else it is, in brackets
  bool hooks = false;
  Seconds in_loop,
      elsewhere;  // of the program's threads on processors, as sampled; Terrace's own work is left out
};
struct CoverageRecord {
  Seconds sample_period;    // 0: time was not sampled
  std::string not_sampled;  // why
  std::vector<CodeCoverage> code;
  double heap = 0, heap_uncovered = 0;  // bytes, means over the time in main loops; without one, over all time
  std::vector<observe::UncoveredObject> objects;  // the largest
};
struct EndRecord {
  Seconds at;
  std::string how;
};  // "exit", "exec", "quick", k_confined, k_limited
// The program went on and was left alone: it was about to filter its system calls, or limited its address space.
inline constexpr std::string_view k_confined = "confined", k_limited = "limited";
struct MachineRecord {
  std::string blob;
};  // Machine::to_blob, as the launcher handed it over
struct CalibrationRecord {
  std::string blob;
};  // Calibration::to_blob: the constants behind the predictions

// One pair for each record above. `decode` throws Error{corrupt} when the bytes make no such record.
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
