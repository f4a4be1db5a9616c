// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the journal's records: the runtime encodes them while the program runs, the merge decodes
// them. One list of fields for each record drives both encoder and decoder.
#include "profile/records.hpp"

#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>

namespace terrace::profile {
namespace {

template <class R, class Record>
concept SameAs = std::same_as<std::remove_const_t<R>, Record>;

// --- the lists of fields ------------------------------------------------------------------------------------

template <class Io, SameAs<Seconds> R>
void fields(Io& io, R& r) {
  io(r.value);
}
template <class Io, SameAs<Bytes> R>
void fields(Io& io, R& r) {
  io(r.value);
}

template <class Io, SameAs<observe::Object> R>
void fields(Io& io, R& r) {
  io(r.id, r.name, r.kind, r.size, r.chunk_size, r.first_chunk, r.chunks, r.live);
}
template <class Io, SameAs<observe::Cell> R>
void fields(Io& io, R& r) {
  io(r.chunk, r.read_lines, r.write_lines, r.exposure, r.samples, r.line_squares, r.streamed_lines,
     r.streamed_exposure);
}
template <class Io, SameAs<observe::Phase> R>
void fields(Io& io, R& r) {
  io(r.name, r.time, r.core, r.samples, r.samples_with_access, r.bandwidth_time, r.unowned_lines, r.cells);
}
template <class Io, SameAs<observe::Iteration> R>
void fields(Io& io, R& r) {
  io(r.number, r.phases);
}

template <class Io, SameAs<RunRecord> R>
void fields(Io& io, R& r) {
  io(r.process, r.parent, r.started_unix_ns, r.host, r.program, r.arguments, r.backend, r.mode, r.planner,
     r.budget, r.initiator, r.cores, r.sample_interval, r.core_time_fitted, r.progress, r.core_time_from, r.rank,
     r.ranks);
}
template <class Io, SameAs<ObjectRecord> R>
void fields(Io& io, R& r) {
  io(r.object, r.at, r.places, r.address);
}
template <class Io, SameAs<ObjectEndRecord> R>
void fields(Io& io, R& r) {
  io(r.object, r.at);
}
template <class Io, SameAs<LoopRecord> R>
void fields(Io& io, R& r) {
  io(r.name, r.at, r.why, r.turns_before, r.misses_before);
}
template <class Io, SameAs<LoopEndRecord> R>
void fields(Io& io, R& r) {
  io(r.at, r.iterations, r.observed, r.misses);
}
template <class Io, SameAs<PhaseRecord> R>
void fields(Io& io, R& r) {
  io(r.iteration, r.index, r.name, r.begun, r.ended, r.waited, r.observed);
}
template <class Io, SameAs<ProofRecord> R>
void fields(Io& io, R& r) {
  io(r.at, r.without, r.with, r.iterations_without, r.iterations_with, r.predicted_unplaced, r.predicted, r.undone,
     r.is_noise);
}
template <class Io, SameAs<CoreTimeRecord> R>
void fields(Io& io, R& r) {
  io(r.phase, r.instruction);
}
template <class Io, SameAs<IterationRecord> R>
void fields(Io& io, R& r) {
  io(r.exact, r.iteration, r.places, r.anew);
}
template <class Io, SameAs<Move> R>
void fields(Io& io, R& r) {
  io(r.object, r.first, r.chunks, r.ask, r.need, r.to, r.size, r.benefit, r.cost);
}
template <class Io, SameAs<MovesRecord> R>
void fields(Io& io, R& r) {
  io(r.moves);
}
template <class Io, SameAs<NoteRecord> R>
void fields(Io& io, R& r) {
  io(r.severity, r.text, r.at);
}
template <class Io, SameAs<CountersRecord> R>
void fields(Io& io, R& r) {
  io(r.accesses, r.instructions, r.misses, r.unseen, r.dropped, r.core, r.exposed, r.bandwidth_bound, r.stalled,
     r.waited, r.charged);
}
template <class Io, SameAs<LevelUse> R>
void fields(Io& io, R& r) {
  io(r.name, r.accesses, r.hit, r.miss);
}
template <class Io, SameAs<LevelsRecord> R>
void fields(Io& io, R& r) {
  io(r.levels);
}
template <class Io, SameAs<LoopCandidate> R>
void fields(Io& io, R& r) {
  io(r.name, r.is_taken, r.begins_at, r.share, r.visits, r.turns, r.verdict);
}
template <class Io, SameAs<LoopsRecord> R>
void fields(Io& io, R& r) {
  io(r.loops);
}
template <class Io, SameAs<MpiFunctionUse> R>
void fields(Io& io, R& r) {
  io(r.name, r.calls, r.time, r.sent, r.received);
}
template <class Io, SameAs<MpiMessages> R>
void fields(Io& io, R& r) {
  io(r.peer, r.size_class, r.messages, r.bytes);
}
template <class Io, SameAs<MpiObjectUse> R>
void fields(Io& io, R& r) {
  io(r.library, r.kind, r.object, r.place, r.objects, r.bytes, r.elsewhere);
}
template <class Io, SameAs<MpiRecord> R>
void fields(Io& io, R& r) {
  io(r.functions, r.messages, r.objects);
}
template <class Io, SameAs<SpillRecord> R>
void fields(Io& io, R& r) {
  auto& a = r.account;
  io(r.iteration, r.at, a.read, a.written, a.prefetched, a.demanded, a.wasted, a.clean, a.touches, a.waited,
     a.content, a.max_content, a.limit, a.kernel_paged, a.min_read, a.min_written, a.min_time, a.predicted,
     a.measured);
}
template <class Io, SameAs<CodeCoverage> R>
void fields(Io& io, R& r) {
  io(r.path, r.hooks, r.in_loop, r.elsewhere);
}
template <class Io, SameAs<observe::UncoveredObject> R>
void fields(Io& io, R& r) {
  io(r.object, r.size);
}
template <class Io, SameAs<CoverageRecord> R>
void fields(Io& io, R& r) {
  io(r.sample_period, r.not_sampled, r.code, r.heap, r.heap_uncovered, r.objects);
}
template <class Io, SameAs<EndRecord> R>
void fields(Io& io, R& r) {
  io(r.at, r.how);
}

// --- writing ------------------------------------------------------------------------------------------------

// Types whose encoding equals their memory representation.
template <class T>
inline constexpr bool k_is_flat =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, Seconds> || std::same_as<T, Bytes>;

// Encodes the fields that fields() lists for a record.
class Writer {
 public:
  explicit Writer(BlobWriter& out) : out_(out) {}
  template <class... Fields>
  void operator()(const Fields&... field) {
    if constexpr ((k_is_flat<Fields> && ...)) {
      auto* at = out_.room((sizeof field + ...));
      ((std::memcpy(at, &field, sizeof field), at += sizeof field), ...);
    } else {
      (one(field), ...);
    }
  }

 private:
  void one(const std::string& text) { out_.put(std::string_view(text)); }
  template <class T>
  void one(const std::vector<T>& values) {
    out_.put(static_cast<std::uint32_t>(values.size()));
    if constexpr (k_is_flat<T>) {
      const auto bytes = std::as_bytes(std::span(values));
      if (!bytes.empty()) std::memcpy(out_.room(bytes.size()), bytes.data(), bytes.size());
    } else {
      for (const auto& value : values) one(value);
    }
  }
  template <class T>
  void one(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      out_.put(value);
    } else {
      fields(*this, value);
    }
  }
  BlobWriter& out_;
};

// --- reading ------------------------------------------------------------------------------------------------

// Decodes the fields that fields() lists for a record.
class Reader {
 public:
  explicit Reader(BlobReader& in) : in_(in) {}
  template <class... Fields>
  void operator()(Fields&... field) {
    (read(field), ...);
  }

 private:
  // A record may end between two of its own fields (older writer), but not within one.
  template <class T>
  void read(T& value) {
    if (depth_ == 0 && in_.at_end()) return;
    ++depth_;
    one(value);
    --depth_;
  }
  void one(std::string& text) { text = in_.get_string(); }
  void one(bool& value) { value = in_.get<std::uint8_t>() != 0; }
  void one(observe::ObjectKind& kind) {
    kind = in_.get<observe::ObjectKind>();
    if (kind > observe::ObjectKind::named)
      throw Error(Code::corrupt, "an object of unknown kind: merge with the version of terrace that recorded it");
  }
  template <class T>
  void one(std::vector<T>& values) {
    const auto count = in_.get<std::uint32_t>();
    // Each value takes at least a byte: a corrupt count must not allocate gigabytes.
    if (count > in_.remaining())
      throw Error(Code::corrupt,
                  "a list is longer than its record: merge with the version of terrace that recorded it");
    values.resize(count);
    for (auto& value : values) one(value);
  }
  template <class T>
  void one(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      value = in_.get<T>();
    } else {
      fields(*this, value);
    }
  }
  BlobReader& in_;
  int depth_ = 0;
};

template <class Record>
void write(BlobWriter& out, const Record& record) {
  Writer io(out);
  fields(io, record);
}
template <class Record>
void read(BlobReader& in, Record& record) {
  record = {};
  Reader io(in);
  fields(io, record);
}

// Encode and decode a record that is one blob (bytes) of another module, which defines its compatibility.
void write_whole(BlobWriter& out, const std::string& blob) {
  for (const char byte : blob) out.put(byte);
}
std::string read_whole(BlobReader& in) {
  std::string blob(in.remaining(), '\0');
  for (auto& byte : blob) byte = in.get<char>();
  return blob;
}

}  // namespace

void encode(BlobWriter& out, const RunRecord& record) { write(out, record); }
void encode(BlobWriter& out, const ObjectRecord& record) { write(out, record); }
void encode(BlobWriter& out, const ObjectEndRecord& record) { write(out, record); }
void encode(BlobWriter& out, const LoopRecord& record) { write(out, record); }
void encode(BlobWriter& out, const LoopEndRecord& record) { write(out, record); }
void encode(BlobWriter& out, const PhaseRecord& record) { write(out, record); }
void encode(BlobWriter& out, const ProofRecord& record) { write(out, record); }
void encode(BlobWriter& out, const CoreTimeRecord& record) { write(out, record); }
void encode(BlobWriter& out, const IterationRecord& record) { write(out, record); }
void encode(BlobWriter& out, const MovesRecord& record) { write(out, record); }
void encode(BlobWriter& out, const NoteRecord& record) { write(out, record); }
void encode(BlobWriter& out, const CountersRecord& record) { write(out, record); }
void encode(BlobWriter& out, const LevelsRecord& record) { write(out, record); }
void encode(BlobWriter& out, const LoopsRecord& record) { write(out, record); }
void encode(BlobWriter& out, const MpiRecord& record) { write(out, record); }
void encode(BlobWriter& out, const SpillRecord& record) { write(out, record); }
void encode(BlobWriter& out, const CoverageRecord& record) { write(out, record); }
void encode(BlobWriter& out, const EndRecord& record) { write(out, record); }
void encode(BlobWriter& out, const MachineRecord& record) { write_whole(out, record.blob); }
void encode(BlobWriter& out, const CalibrationRecord& record) { write_whole(out, record.blob); }

void decode(BlobReader& in, RunRecord& record) { read(in, record); }
void decode(BlobReader& in, ObjectRecord& record) { read(in, record); }
void decode(BlobReader& in, ObjectEndRecord& record) { read(in, record); }
void decode(BlobReader& in, LoopRecord& record) { read(in, record); }
void decode(BlobReader& in, LoopEndRecord& record) { read(in, record); }
void decode(BlobReader& in, PhaseRecord& record) { read(in, record); }
void decode(BlobReader& in, ProofRecord& record) { read(in, record); }
void decode(BlobReader& in, CoreTimeRecord& record) { read(in, record); }
void decode(BlobReader& in, IterationRecord& record) { read(in, record); }
void decode(BlobReader& in, MovesRecord& record) { read(in, record); }
void decode(BlobReader& in, NoteRecord& record) { read(in, record); }
void decode(BlobReader& in, CountersRecord& record) { read(in, record); }
void decode(BlobReader& in, LevelsRecord& record) { read(in, record); }
void decode(BlobReader& in, LoopsRecord& record) { read(in, record); }
void decode(BlobReader& in, MpiRecord& record) { read(in, record); }
void decode(BlobReader& in, SpillRecord& record) { read(in, record); }
void decode(BlobReader& in, CoverageRecord& record) { read(in, record); }
void decode(BlobReader& in, EndRecord& record) { read(in, record); }
void decode(BlobReader& in, MachineRecord& record) { record.blob = read_whole(in); }
void decode(BlobReader& in, CalibrationRecord& record) { record.blob = read_whole(in); }

// The plan comes last in its record, so that it can grow.
void encode(BlobWriter& out, const PlanRecord& record) {
  Writer io(out);
  io(record.at, record.why);
  record.plan.to_blob(out);
}
void decode(BlobReader& in, PlanRecord& record) {
  record = {};
  Reader io(in);
  io(record.at, record.why);
  if (!in.at_end()) record.plan = Plan::from_blob(in);
}

}  // namespace terrace::profile
