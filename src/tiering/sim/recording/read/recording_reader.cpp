// SPDX-License-Identifier: Apache-2.0
// Decodes the frames of a recording into the events of the recorded program, and passes them to a ReplaySink, for
// `terrace replay`. See recording_reader.hpp.
#include "sim/recording/read/recording_reader.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "profile/profile.hpp"
#include "sim/recording/recording_codec.hpp"
#include "sim/recording/recording_frame_head.hpp"
#include "sim/recording/recording_quantum.hpp"

namespace terrace::sim {

namespace {

constexpr std::uint64_t k_address_space = std::uint64_t{1} << 57;  // of a process, with five levels of page tables
constexpr double k_longest_sleep = 1e10;  // seconds: beyond the range of a 32-bit timespec
constexpr std::uint64_t k_max_objects = UINT32_MAX - 1;

RecordingHeader read_header(const Frame& frame, Decompressor& decompressor) {
  if (!has_intact_columns(frame))
    throw Error(Code::corrupt, "the recording is damaged: a process's header does not match its checksum");
  std::vector<std::byte> bytes;
  decompressor.column(frame.columns[k_events], bytes);
  BlobReader in(bytes);
  return RecordingHeader::from_blob(in);
}

// Counts the objects and chunks of the program so far; the next event is checked against them.
struct ProgramExtent {
  std::uint64_t objects = 0;
  ChunkId chunks = 0;
};

// Limits the chunks that large objects have beyond the usual number (recording_format.hpp).
class LargeObjects {
 public:
  explicit LargeObjects(std::uint32_t chunks_per_object) : usual_(chunks_per_object) {}
  void added(const observe::NewObject& object) {
    const auto beyond = object.chunks > usual_ ? object.chunks - usual_ : 0;
    beyond_.push_back(beyond);
    live_ += beyond;
    ever_ += beyond;
    if (live_ > k_max_chunks_beyond) refuse(object, "at the same time", k_max_chunks_beyond);
    if (ever_ > k_max_chunks_beyond_ever) refuse(object, "over the run", k_max_chunks_beyond_ever);
  }
  void removed(std::uint64_t id) { live_ -= std::exchange(beyond_[id], 0); }

 private:
  [[noreturn]] void refuse(const observe::NewObject& object, const char* when, std::uint64_t most) const {
    throw Error(Code::corrupt, "the object \"" + std::string(object.name) + "\" has " +
                                   std::to_string(object.chunks) + " chunks: with it, objects have more than " +
                                   std::to_string(most) + " chunks " + when + " beyond " + std::to_string(usual_) +
                                   " each, which cannot be replayed");
  }

  std::uint32_t usual_;
  std::vector<std::uint32_t> beyond_;  // by object; 0 once it is removed
  std::uint64_t live_ = 0, ever_ = 0;
};

// Ignores events that are read a second time, up to the begin of the iteration to repeat.
class NullSink final : public ReplaySink {
 public:
  [[nodiscard]] bool wants_misses() const override { return false; }
  void quantum(const observe::Quantum&, const observe::Tally&) override {}
  ThreadClocks& thread_clocks() override { return no_clocks_; }

 private:
  std::mutex mutex_;
  BroadcastThreadClocks no_clocks_{mutex_};
};

// Position in a recording: the number of a frame, and of an event in it.
struct Position {
  std::size_t frame = 0;
  std::uint64_t event = 0;
};

// Tracks the loop's iterations, and determines where to continue if more are requested than were recorded.
class Iterations {
 public:
  explicit Iterations(std::uint64_t wanted) : wanted_(wanted) {}
  void on_loop_begin() {
    if (wanted_ > 0 && ++loops_ > 1) refuse("has several main loops");
    first_phase_.clear();
  }
  void on_phase_begin(std::string_view name, const Position& at) {
    if (loops_ == 0) return;
    if (first_phase_.empty()) first_phase_ = name;
    if (name != first_phase_) return;
    ++begun_;
    if (repeated_ > 0) return;
    last_ = at;
    changes_memory_ = false;
  }
  void memory_changed() { changes_memory_ = true; }
  // Returns, at the loop's end, whether its last iteration is repeated.
  [[nodiscard]] bool repeats_iteration() {
    if (begun_ == 0 || begun_ >= wanted_) return false;
    if (changes_memory_) refuse("makes or frees memory in the last iteration of its main loop");
    ++repeated_;
    return true;
  }
  [[nodiscard]] Position last() const { return last_; }
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }
  [[nodiscard]] std::string describe_repetition() const {
    return "iterations of the main loop: " + std::to_string(begun_ - repeated_) +
           " were recorded, the last of them " + "was repeated until there were " + std::to_string(begun_);
  }

 private:
  [[noreturn]] static void refuse(const char* why) {
    throw Error(Code::unsupported, std::string("the recorded program ") + why +
                                       ": its iterations cannot be repeated; replay it without --iterations");
  }

  std::uint64_t wanted_;
  std::uint64_t loops_ = 0, begun_ = 0, repeated_ = 0;
  std::string first_phase_;
  Position last_;
  bool changes_memory_ = false;
};

// Decodes the frames of one process, one by one, and passes their events to the sink.
class FrameReplay {
 public:
  FrameReplay(const RecordingHeader& header, ReplaySink& sink, Decompressor& decompressor,
              std::uint64_t iterations)
      : sink_(sink),
        iterations_(iterations),
        decompressor_(decompressor),
        large_objects_(header.chunks_per_object),
        quanta_(header.quantum_accesses) {}
  // Replays the frame. Returns false, without effect, if the frame is not complete. Events before `from` were
  // replayed already.
  bool replay_frame(const Frame& frame, const Position& from) {
    if (!has_intact_columns(frame)) return false;
    frame_ = &frame;
    at_ = {from.frame, 0};
    repeats_iteration_ = false;
    has_misses_ = false;
    quanta_.begin_frame(frame.columns[k_classes].size, frame.columns[k_lines].size);
    decompressor_.column(frame.columns[k_events], events_);
    ColumnReader in(events_);
    for (; !in.at_end() && !repeats_iteration_; ++at_.event) {
      if (finished_) throw Error(Code::corrupt, "the recording is damaged: it goes on after the program's end");
      is_already_replayed_ = at_.event < from.event;
      event(in);
    }
    return true;
  }
  [[nodiscard]] bool finished() const { return finished_; }
  // Returns whether the frame was left because an iteration is repeated.
  [[nodiscard]] bool repeats_iteration() const { return repeats_iteration_; }
  [[nodiscard]] const Iterations& iterations() const { return iterations_; }

 private:
  void on_loop_begin(ColumnReader& in) {
    observe::NewLoop loop;
    loop.name = in.text();
    loop.why = in.text();
    loop.turns_before = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    loop.work_share = static_cast<double>(in.number(k_share_parts)) / static_cast<double>(k_share_parts);
    if (!is_already_replayed_) iterations_.on_loop_begin();
    current_sink().on_loop_begin(loop);
  }
  void on_phase_begin(std::string_view name) {
    if (!is_already_replayed_) iterations_.on_phase_begin(name, at_);
    current_sink().on_phase_begin(name);
  }
  void on_loop_end() {
    repeats_iteration_ = !is_already_replayed_ && iterations_.repeats_iteration();
    if (repeats_iteration_) return;
    if (!is_already_replayed_ && iterations_.repeated() > 0) {
      const auto sentence = iterations_.describe_repetition();
      current_sink().on_note("note", sentence);
    }
    current_sink().on_loop_end();
  }
  void event(ColumnReader& in) {
    switch (static_cast<EventTag>(in.byte())) {
      case EventTag::quantum:
        return quantum(in);
      case EventTag::object_added:
        return on_object_added(in);
      case EventTag::object_removed:
        return on_object_removed(in);
      case EventTag::loop_begin:
        return on_loop_begin(in);
      case EventTag::loop_end:
        return on_loop_end();
      case EventTag::phase_begin:
        return on_phase_begin(in.text());
      case EventTag::slept:
        return on_sleep(in);
      case EventTag::unobserved: {
        const auto unseen = in.number();
        return current_sink().on_unobserved(unseen, in.number());
      }
      case EventTag::hinted:
        return on_hint(in);
      case EventTag::covered:
        return current_sink().on_coverage(in.take(in.number()));
      case EventTag::loop_candidates:
        return current_sink().on_loop_candidates(in.take(in.number()));
      case EventTag::mpi_statistics:
        return current_sink().on_mpi_statistics(in.take(in.number()));
      case EventTag::noted: {
        const auto severity = in.text();
        return current_sink().on_note(severity, in.text());
      }
      case EventTag::finished:
        finished_ = true;
        return current_sink().on_finish(in.text());
      case EventTag::runs:
        return thread_clocks().set_running(thread(in));
      case EventTag::alive:
        return thread_clocks().set_num_alive(thread(in));
      case EventTag::follow: {
        const auto follower = thread(in);
        return thread_clocks().advance_to(follower, thread(in));
      }
      case EventTag::meet:
        return synchronize(in);
      case EventTag::release:
        return thread_clocks().on_unlock(in.number());
      case EventTag::acquire:
        return thread_clocks().on_lock(in.number());
    }
    throw Error(Code::corrupt, "the recording has an event of a kind that this version of terrace does not know");
  }

  static std::uint32_t thread(ColumnReader& in) {
    return static_cast<std::uint32_t>(in.number(k_max_recorded_threads));
  }

  void synchronize(ColumnReader& in) {
    threads_.clear();
    for (auto left = in.number(k_max_recorded_threads); left > 0; --left) threads_.push_back(thread(in));
    thread_clocks().synchronize(threads_);
  }

  void on_hint(ColumnReader& in) {
    observe::ProgramHint hint;
    hint.what = static_cast<observe::ProgramHint::What>(
        in.number(static_cast<std::uint64_t>(observe::ProgramHint::What::spares)));
    hint.of = in.text();
    hint.says = in.text();
    hint.value = in.time();
    current_sink().on_hint(hint);
  }

  void on_object_added(ColumnReader& in) {
    observe::NewObject object{};
    object.name = in.text();
    object.kind =
        static_cast<observe::ObjectKind>(in.number(static_cast<std::uint64_t>(observe::ObjectKind::named)));
    object.address = in.number(k_address_space);
    object.size = Bytes{in.number(k_address_space)};
    object.id = static_cast<ObjectId>(in.number(k_max_objects));
    object.first_chunk = static_cast<ChunkId>(in.number(memory::k_no_chunk - 1));
    object.chunks = static_cast<std::uint32_t>(in.number(memory::k_no_chunk - 1 - object.first_chunk));
    if (is_already_replayed_) return;
    iterations_.memory_changed();
    if (object.id != extent_.objects || object.first_chunk != extent_.chunks)
      throw Error(Code::corrupt, "the recording is damaged: its objects are out of order");
    ++extent_.objects;
    extent_.chunks += object.chunks;
    large_objects_.added(object);
    current_sink().on_object_added(object);
  }

  void on_sleep(ColumnReader& in) {
    const Seconds duration{in.time()};
    // Negated, so that NaN is rejected.
    if (!(duration.value >= 0 && duration.value <= k_longest_sleep))
      throw Error(Code::corrupt,
                  "the recording is damaged: it has a sleep that is negative or longer than 10,000,000,000 s");
    current_sink().on_sleep(duration);
  }

  void on_object_removed(ColumnReader& in) {
    const auto id = in.number();
    if (is_already_replayed_) return;
    iterations_.memory_changed();
    if (id >= extent_.objects)
      throw Error(Code::corrupt, "the recording is damaged: it frees an object that is not there");
    large_objects_.removed(id);
    current_sink().on_object_removed(static_cast<ObjectId>(id));
  }

  void quantum(ColumnReader& in) {
    auto sums = quanta_.sums(in, extent_.chunks, tally_);
    if (sums.misses > 0 && current_sink().wants_misses()) {
      if (!has_misses_) {
        decompressor_.column(frame_->columns[k_classes], classes_);
        decompressor_.column(frame_->columns[k_lines], lines_);
        has_misses_ = true;
      }
      sums.quantum.misses = quanta_.misses(classes_, lines_);
    }
    current_sink().quantum(sums.quantum, tally_);
  }

  ReplaySink& current_sink() { return is_already_replayed_ ? null_sink_ : sink_; }
  ThreadClocks& thread_clocks() { return current_sink().thread_clocks(); }

  ReplaySink& sink_;
  NullSink null_sink_;
  Iterations iterations_;
  Position at_;
  bool is_already_replayed_ = false;
  bool repeats_iteration_ = false;
  Decompressor& decompressor_;
  ProgramExtent extent_;
  LargeObjects large_objects_;
  const Frame* frame_ = nullptr;
  bool finished_ = false;
  bool has_misses_ = false;  // of this frame: they are in the buffers
  QuantumDecoder quanta_;
  observe::Tally tally_;
  std::vector<std::uint32_t> threads_;
  std::vector<std::byte> events_, classes_, lines_;
};

}  // namespace

bool is_recording(std::span<const std::byte> file) {
  constexpr std::size_t k_at = 8;  // after the magic of zstd's skippable frames, and the frame's size
  return file.size() >= k_at + k_recording_magic.size() &&
         std::memcmp(file.data() + k_at, k_recording_magic.data(), k_recording_magic.size()) == 0;
}

RecordingIndex index_recording(std::span<const std::byte> file) {
  RecordingIndex index;
  Decompressor decompressor;
  for (std::size_t at = 0; at < file.size();) {
    std::size_t end = 0;
    try {
      const auto frame = read_frame(file, at, end);
      const auto& head = frame.head;
      const auto process =
          std::find_if(index.processes.begin(), index.processes.end(), [&](const RecordedProcess& known) {
            return known.header.identity.process == head.process &&
                   known.header.identity.started_unix_ns == head.started_unix_ns;
          });
      if (process == index.processes.end()) {
        if (head.number != 0)
          throw Error(Code::corrupt, "the recording is damaged: a frame's process has no header");
        auto header = read_header(frame, decompressor);
        if (header.identity.process != head.process || header.identity.started_unix_ns != head.started_unix_ns)
          throw Error(Code::corrupt, "the recording is damaged: a frame has the header of another process");
        index.processes.push_back({std::move(header), {}});
      } else {
        if (head.number != process->frames.size() + 1)
          throw Error(Code::corrupt, "the recording is damaged: this is frame " + std::to_string(head.number) +
                                         " of its process, after frame " + std::to_string(process->frames.size()));
        process->frames.push_back(frame);
      }
    } catch (const Error& error) {
      if (index.processes.empty())
        throw Error(Code::corrupt, is_recording(file) ? error.what() : "not a recording");
      index.cut = "at byte " + std::to_string(at) + ": " + error.what();
      break;
    }
    at = end;
  }
  if (index.processes.empty()) throw Error(Code::corrupt, "an empty file is no recording");
  return index;
}

ReplayEnd replay_process(const RecordedProcess& process, ReplaySink& sink, std::uint64_t iterations) {
  Decompressor decompressor;
  FrameReplay replay(process.header, sink, decompressor, iterations);
  ReplayEnd end;
  for (Position next; next.frame < process.frames.size();) {
    const auto& frame = process.frames[next.frame];
    if (!replay.replay_frame(frame, next)) {
      end.reason = "at byte " + std::to_string(frame.at) + ": the frame is damaged";
      break;
    }
    end.frames = std::max(end.frames, next.frame + 1);
    next = replay.repeats_iteration() ? replay.iterations().last() : Position{next.frame + 1, 0};
  }
  end.finished = replay.finished();
  end.repeated = replay.iterations().repeated();
  return end;
}

}  // namespace terrace::sim
