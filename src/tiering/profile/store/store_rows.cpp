// SPDX-License-Identifier: Apache-2.0
// Inserts the records of one process's journal as rows of a store, for the merge. See store_rows.hpp.
#include "profile/store/store_rows.hpp"

#include <array>

#include "core/blob.hpp"
#include "core/error.hpp"
#include "machine/machine.hpp"
#include "profile/store/time_coverage.hpp"

namespace terrace::profile {
namespace {

constexpr std::array<const char*, 7> k_kind_names = {"heap",  "mapping", "fixed", "common",
                                                     "stack", "small",   "named"};

// Returns a list of strings as JSON (RFC 8259), readable by Python and SQLite's json_each.
std::string json_list(const std::vector<std::string>& texts) {
  static constexpr char k_hex[] = "0123456789abcdef";
  std::string json = "[";
  for (const auto& text : texts) {
    if (json.size() > 1) json += ',';
    json += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        json += '\\';
        json += c;
      } else if (byte < 0x20) {
        json += "\\u00";
        json += k_hex[byte >> 4];
        json += k_hex[byte & 15];
      } else {
        json += c;
      }
    }
    json += '"';
  }
  return json + "]";
}

// Calls `row` for each run of chunks on the same place; skips chunks without a place.
template <class Row>
void for_each_run(const std::vector<PlaceId>& places, Row row) {
  for (std::size_t first = 0; first < places.size();) {
    std::size_t end = first + 1;
    while (end < places.size() && places[end] == places[first]) ++end;
    if (places[first] != k_no_place) row(first, end - first, places[first]);
    first = end;
  }
}

void add_tree(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement node(database, "INSERT INTO node VALUES(?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const auto& n : machine.nodes()) node.run(id, number++, n.parent, n.name, n.place);
  Statement place(database, "INSERT INTO place VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  number = 0;
  for (const auto& p : machine.places()) {
    place.run(id, number++, p.name, p.kind, p.capacity, p.granule, p.domain, p.numa_node);
  }
}

void add_initiators(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement initiator(database, "INSERT INTO initiator VALUES(?, ?, ?, ?, ?, ?, ?)");
  Statement cache(database, "INSERT INTO cache VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const auto& i : machine.initiators()) {
    initiator.run(id, number, i.name, i.cores, i.frequency_hz, i.instruction_time, i.domain);
    std::int64_t level = 0;
    for (const auto& c : i.caches) cache.run(id, number, level++, c.name, c.size, c.ways, c.shared, c.latency);
    ++number;
  }
  Statement domain(database, "INSERT INTO domain VALUES(?, ?, ?, ?, ?)");
  number = 0;
  for (const auto& d : machine.domains()) {
    domain.run(id, number, d.name, d.initiator, machine.home(static_cast<DomainId>(number)));
    ++number;
  }
}

void add_paths(Database& database, std::int64_t id, const machine::Machine& machine) {
  Statement path(database, "INSERT INTO path VALUES(?, ?, ?, ?, ?, ?)");
  for (const auto& p : machine.parts().paths) path.run(id, p.initiator, p.place, p.read, p.write, p.latency);
  Statement copy(database, "INSERT INTO copy VALUES(?, ?, ?, ?)");
  const auto count = static_cast<PlaceId>(machine.places().size());
  for (PlaceId from = 0; from < count; ++from) {
    for (PlaceId to = 0; to < count; ++to) {
      if (from != to) copy.run(id, from, to, machine.copy_bandwidth(from, to));
    }
  }
}

}  // namespace

std::string kind_name(observe::ObjectKind kind) { return k_kind_names.at(static_cast<std::size_t>(kind)); }

observe::ObjectKind parse_kind(const std::string& name, const std::string& store) {
  for (std::size_t k = 0; k < k_kind_names.size(); ++k) {
    if (name == k_kind_names[k]) return static_cast<observe::ObjectKind>(k);
  }
  throw Error(Code::corrupt,
              store + " is damaged: it has an object of unknown kind \"" + name + "\"; record again");
}

RunRows::RunRows(Database& database, const std::string& journal, const std::string& job)
    : database_(database),
      object_(
          database,
          "INSERT INTO object VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?) ON CONFLICT DO UPDATE SET "
          "name = excluded.name, kind = excluded.kind, size = excluded.size, chunk_size = excluded.chunk_size, "
          "first_chunk = excluded.first_chunk, chunks = excluded.chunks, address = excluded.address"),
      object_places_(database, "INSERT OR REPLACE INTO object_place VALUES(?, ?, ?, ?, ?)"),
      phase_instance_(database, "INSERT INTO phase_instance VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      iteration_(database, "INSERT INTO iteration VALUES(NULL, ?, ?, ?, ?, ?)"),
      phase_(database, "INSERT OR REPLACE INTO phase VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      cell_(database, "INSERT OR REPLACE INTO cell VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      chunk_place_(database, "INSERT INTO chunk_place VALUES(?, ?, ?, ?)"),
      move_(database, "INSERT INTO move VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {
  Statement insert(
      database,
      "INSERT INTO run VALUES(NULL, ?, 0, 0, 0, '', '', '[]', '', '', '', '', 0, 1, 0, NULL, NULL, NULL, NULL, "
      "NULL, NULL, NULL, 0, NULL, NULL, NULLIF(?, ''))");
  insert.run(journal, job);
  id_ = database.last_row();
}

void RunRows::add(const RunRecord& r) {
  process_ = r.process;
  program_ = r.program;
  Statement update(database_,
                   "UPDATE run SET process = ?, parent = ?, started_unix_ns = ?, host = ?, program = ?, "
                   "arguments = ?, backend = ?, mode = ?, planner = ?, budget = ?, initiator = ?, cores = ?, "
                   "sample_interval = ?, core_time_fitted = ?, core_time_from = NULLIF(?, ''), progress = ?, "
                   "rank = ?, ranks = ? WHERE id = ?");
  std::optional<bool> fitted;
  std::optional<std::int32_t> rank;
  std::optional<std::uint32_t> ranks;
  if (r.rank >= 0) rank = r.rank, ranks = r.ranks;
  if (r.backend == "virtual") fitted = r.core_time_fitted;
  const auto arguments = json_list(r.arguments);
  update.run(r.process, r.parent, r.started_unix_ns, r.host, r.program, arguments, r.backend, r.mode, r.planner,
             r.budget, r.initiator, r.cores, r.sample_interval, fitted, r.core_time_from, r.progress, rank, ranks,
             id_);
}

void RunRows::add(const ObjectRecord& r) {
  const auto& o = r.object;
  const auto kind = kind_name(o.kind);
  object_.run(id_, o.id, o.name, kind, o.size, o.chunk_size, o.first_chunk, o.chunks, r.at, r.address);
  for_each_run(r.places, [&](std::size_t first, std::size_t count, PlaceId place) {
    object_places_.run(id_, o.id, first, count, place);
  });
}

void RunRows::add(const ObjectEndRecord& r) {
  Statement update(database_, "UPDATE object SET died = ? WHERE run = ? AND id = ?");
  update.run(r.at, id_, r.object);
}

void RunRows::add(const LoopRecord& r) {
  ++loop_;
  Statement insert(database_, "INSERT INTO loop VALUES(?, ?, ?, ?, ?, ?, NULL, NULL, NULL, ?, NULL)");
  insert.run(id_, loop_, r.name, r.at, r.why, r.turns_before, r.misses_before);
}

void RunRows::add(const LoopEndRecord& r) {
  Statement update(
      database_,
      "UPDATE loop SET ended = ?, iterations = ?, observed = ?, misses_by_end = ? WHERE run = ? AND number = ?");
  update.run(r.at, r.iterations, r.observed, r.misses, id_, loop_);
}

void RunRows::add(const PhaseRecord& r) {
  phase_instance_.run(id_, loop_, r.iteration, r.index, r.name, r.begun, r.ended, r.waited, r.observed);
}

void RunRows::add(const CoreTimeRecord& r) {
  Statement insert(database_, "INSERT OR REPLACE INTO core_time VALUES(?, ?, ?)");
  insert.run(id_, r.phase, r.instruction);
}

void RunRows::add(const IterationRecord& r) {
  iteration_.run(id_, loop_, r.iteration.number, r.exact, r.anew);
  const auto iteration = database_.last_row();
  std::size_t index = 0;
  for (const auto& p : r.iteration.phases) {
    phase_.run(iteration, index, p.name, p.time, p.core, p.samples, p.samples_with_access, p.bandwidth_time,
               p.unowned_lines);
    for (const auto& c : p.cells) {
      cell_.run(iteration, index, c.chunk, c.read_lines, c.write_lines, c.exposure, c.samples, c.line_squares,
                c.streamed_lines, c.streamed_exposure);
    }
    ++index;
  }
  if (!r.places.empty()) places_ = r.places;
  for_each_run(places_, [&](std::size_t first, std::size_t count, PlaceId place) {
    chunk_place_.run(iteration, first, count, place);
  });
}

void RunRows::add(const MovesRecord& record) {
  moves_.insert(moves_.end(), record.moves.begin(), record.moves.end());
}

void RunRows::add(const TransfersRecord& record) {
  for (const auto& r : record.transfers) {
    if (r.move >= moves_.size())
      throw Error(Code::corrupt,
                  "a transfer of a move that the journal does not name: merge with the version of terrace that "
                  "recorded it");
    const auto& m = moves_[r.move];
    move_.run(id_, loop_, m.object, m.first, m.chunks, r.from, m.to, r.iteration, m.ask, m.need, r.size, m.benefit,
              m.cost, r.asked, r.begun, r.done, r.waited, r.refused);
  }
}

void RunRows::add(const PlanRecord& r) {
  const auto& plan = r.plan;
  BlobWriter blob;
  plan.to_blob(blob);
  Statement insert(database_, "INSERT INTO plan VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const auto budget = json_list(plan.budget);
  const auto phases = json_list(plan.phases);
  insert.run(id_, r.at, r.why, plan.planner, plan.machine, plan.loop, budget, phases, plan.predicted,
             plan.predicted_slow, plan.lower_bound, plan.gap, blob.bytes());
  const auto id = database_.last_row();
  Statement object(database_, "INSERT INTO plan_object VALUES(?, ?, ?, ?, ?, ?)");
  Statement part(database_, "INSERT INTO plan_part VALUES(?, ?, ?, ?, ?)");
  std::size_t position = 0;
  for (const auto& o : plan.objects) {
    object.run(id, position, o.name, o.size, o.chunks, o.pinned);
    for (const auto& p : o.parts) part.run(id, position, p.chunks.first, p.chunks.count, p.place);
    ++position;
  }
  Statement move(database_, "INSERT INTO plan_move VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  position = 0;
  for (const auto& m : plan.moves) {
    move.run(id, position++, m.object, m.chunks.first, m.chunks.count, m.to, m.ask, m.need, m.awaited, m.benefit,
             m.cost);
  }
}

void RunRows::add(const ProofRecord& r) {
  Statement insert(database_, "INSERT OR REPLACE INTO proof VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(id_, loop_, r.at, r.without, r.with, r.iterations_without, r.iterations_with, r.predicted_unplaced,
             r.predicted, r.undone, r.is_noise);
}

void RunRows::add(const NoteRecord& r) {
  Statement insert(database_, "INSERT INTO note VALUES(?, ?, ?, ?)");
  insert.run(id_, r.at, r.severity, r.text);
}

void RunRows::add(const CountersRecord& r) {
  Statement insert(database_, "INSERT OR REPLACE INTO counters VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(id_, r.accesses, r.instructions, r.misses, r.unseen, r.dropped, r.core, r.exposed, r.bandwidth_bound,
             r.stalled, r.waited, r.charged);
}

void RunRows::add(const LevelsRecord& r) {
  Statement insert(database_, "INSERT OR REPLACE INTO level VALUES(?, ?, ?, ?, ?, ?)");
  std::uint64_t position = 0;
  for (const auto& level : r.levels)
    insert.run(id_, position++, level.name, level.accesses, level.hit, level.miss);
}

void RunRows::add(const LoopsRecord& r) {
  Statement clear(database_, "DELETE FROM loop_candidate WHERE run = ?");
  clear.run(id_);
  Statement insert(database_, "INSERT OR REPLACE INTO loop_candidate VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& loop : r.loops)
    insert.run(id_, loop.name, loop.is_taken, loop.begins_at, loop.share, loop.visits, loop.turns, loop.verdict);
}

void RunRows::add(const MpiRecord& r) {
  for (const char* table : {"mpi_call", "mpi_message", "mpi_object"}) {
    Statement clear(database_, std::string("DELETE FROM ") + table + " WHERE run = ?");
    clear.run(id_);
  }
  Statement call(database_, "INSERT OR REPLACE INTO mpi_call VALUES(?, ?, ?, ?, ?, ?)");
  for (const auto& one : r.functions) call.run(id_, one.name, one.calls, one.time, one.sent, one.received);
  Statement message(database_, "INSERT OR REPLACE INTO mpi_message VALUES(?, ?, ?, ?, ?)");
  for (const auto& one : r.messages) message.run(id_, one.peer, one.size_class, one.messages, one.bytes);
  Statement object(database_, "INSERT INTO mpi_object VALUES(?, ?, ?, ?, NULLIF(?, ''), ?, ?, ?)");
  for (const auto& one : r.objects)
    object.run(id_, one.library, one.kind, one.object, one.place, one.objects, one.bytes, one.elsewhere);
}

void RunRows::add(const SpillRecord& r) {
  Statement insert(database_,
                   "INSERT INTO spill VALUES(?, ?, NULLIF(?, 4294967295), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                   "?, ?, ?, ?, ?)");
  const auto& a = r.account;
  insert.run(id_, spills_++, r.iteration, r.at, a.read, a.written, a.prefetched, a.demanded, a.wasted, a.clean,
             a.touches, a.waited, a.content, a.max_content, a.limit, a.kernel_paged, a.min_read, a.min_written,
             a.min_time, a.predicted, a.measured);
}

void RunRows::add(const CoverageRecord& r) {
  for (const char* table : {"coverage", "coverage_code", "coverage_object"}) {
    Statement clear(database_, std::string("DELETE FROM ") + table + " WHERE run = ?");
    clear.run(id_);
  }
  const auto time = time_coverage(r, loop_ >= 0);
  Statement insert(database_, "INSERT INTO coverage VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(id_, r.sample_period, r.not_sampled, time.samples, time.share, time.at_least, r.heap,
             r.heap_uncovered);
  Statement code(database_, "INSERT OR REPLACE INTO coverage_code VALUES(?, ?, ?, ?, ?)");
  for (const auto& one : r.code) code.run(id_, one.path, one.hooks, one.in_loop, one.elsewhere);
  Statement object(database_, "INSERT OR REPLACE INTO coverage_object VALUES(?, ?, ?)");
  for (const auto& one : r.objects) object.run(id_, one.object, one.size);
}

void RunRows::add(const EndRecord& r) {
  ended_ = true;
  Statement update(database_, "UPDATE run SET ended = ?, how = ? WHERE id = ?");
  update.run(r.at, r.how, id_);
}

void RunRows::add(const MachineRecord& r) {
  const auto machine = add_machine(database_, r.blob);
  Statement update(database_, "UPDATE run SET machine = ? WHERE id = ?");
  update.run(machine, id_);
}

void RunRows::add(const CalibrationRecord& r) {
  const std::span bytes(reinterpret_cast<const std::byte*>(r.blob.data()), r.blob.size());
  Statement update(database_, "UPDATE run SET calibration = ? WHERE id = ?");
  update.run(bytes, id_);
}

void RunRows::finish(const JournalEnd& end) {
  if (process_ == 0) process_ = end.process;
  Statement update(database_, "UPDATE run SET process = ?, whole = ? WHERE id = ?");
  update.run(process_, end.whole && ended_, id_);
}

std::int64_t add_machine(Database& database, const std::string& blob) {
  const std::span bytes(reinterpret_cast<const std::byte*>(blob.data()), blob.size());
  Statement known(database, "SELECT id FROM machine WHERE blob = ?");
  known.bind_all(bytes);
  if (known.step()) return known.integer(0);

  BlobReader in(bytes);
  const auto machine = machine::Machine::from_blob(in);
  const auto& parts = machine.parts();
  Statement insert(database, "INSERT INTO machine VALUES(NULL, ?, ?, ?, ?, ?, ?)");
  insert.run(parts.name, parts.description, parts.fingerprint, parts.line, machine.copier().name, bytes);
  const auto id = database.last_row();
  add_tree(database, id, machine);
  add_initiators(database, id, machine);
  add_paths(database, id, machine);
  return id;
}

}  // namespace terrace::profile
