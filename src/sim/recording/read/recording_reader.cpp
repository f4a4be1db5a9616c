// Frames into events. See recording_reader.hpp.
#include "sim/recording/read/recording_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "profile/profile.hpp"
#include "sim/recording/recording_codec.hpp"
#include "sim/recording/recording_quantum.hpp"

namespace terrace::sim {

namespace {

constexpr std::uint64_t k_address_space = std::uint64_t{1} << 57;  // of a process, with five levels of page tables
constexpr double k_longest_sleep = 1e10;  // seconds: what a timespec of 32 bits can say, and more
constexpr std::uint64_t k_most_objects = UINT32_MAX - 1;

RecordingHeader read_header(const Frame& frame, Decompressor& decompressor) {
  if (!columns_are_whole(frame)) throw Error(Code::corrupt, "the process's header is damaged");
  std::vector<std::byte> bytes;
  decompressor.column(frame.columns[k_events], bytes);
  BlobReader in(bytes);
  return RecordingHeader::from_blob(in);
}

// What is known of the program so far, against which the next event is checked.
struct Known {
  std::uint64_t objects = 0;
  ChunkId chunks = 0;
};

// Keeps account of the chunks that large objects have beyond the usual number (recording_format.hpp).
class LargeObjects {
 public:
  explicit LargeObjects(std::uint32_t chunks_per_object) : usual_(chunks_per_object) {}
  void added(const observe::NewObject& object) {
    const auto beyond = object.chunks > usual_ ? object.chunks - usual_ : 0;
    beyond_.push_back(beyond);
    live_ += beyond;
    ever_ += beyond;
    if (live_ > k_most_chunks_beyond) refuse(object, "at the same time", k_most_chunks_beyond);
    if (ever_ > k_most_chunks_beyond_ever) refuse(object, "over the run", k_most_chunks_beyond_ever);
  }
  void removed(std::uint64_t id) { live_ -= std::exchange(beyond_[id], 0); }

 private:
  [[noreturn]] void refuse(const observe::NewObject& object, const char* when, std::uint64_t most) const {
    throw Error(Code::corrupt,
                "with the object \"" + std::string(object.name) + "\" of " + std::to_string(object.chunks) +
                    " chunks, a recording's objects have more than " + std::to_string(most) + " " + when +
                    " beyond the usual " + std::to_string(usual_) + " each: they cannot be replayed");
  }

  std::uint32_t usual_;
  std::vector<std::uint32_t> beyond_;  // by object; 0 once it is removed
  std::uint64_t live_ = 0, ever_ = 0;
};

class FrameReplay {
 public:
  FrameReplay(const RecordingHeader& header, ReplaySink& sink, Decompressor& decompressor)
      : sink_(sink),
        decompressor_(decompressor),
        large_objects_(header.chunks_per_object),
        quanta_(header.quantum_accesses) {}
  // False when the frame is not whole; nothing of it has been told then.
  bool tell(const Frame& frame) {
    if (!columns_are_whole(frame)) return false;
    frame_ = &frame;
    has_misses_ = false;
    quanta_.begin_frame(frame.columns[k_classes].size, frame.columns[k_lines].size);
    decompressor_.column(frame.columns[k_events], events_);
    ColumnReader in(events_);
    while (!in.at_end()) {
      if (finished_) throw Error(Code::corrupt, "a recording goes on after the program's end");
      event(in);
    }
    return true;
  }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  void loop_begun(ColumnReader& in) {
    observe::NewLoop loop;
    loop.name = in.text();
    loop.why = in.text();
    loop.turns_before = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    sink_.loop_begun(loop);
  }
  void event(ColumnReader& in) {
    switch (static_cast<EventTag>(in.byte())) {
      case EventTag::quantum:
        return quantum(in);
      case EventTag::object_added:
        return object_added(in);
      case EventTag::object_removed:
        return object_removed(in);
      case EventTag::loop_begun:
        return loop_begun(in);
      case EventTag::loop_ended:
        return sink_.loop_ended();
      case EventTag::phase_begun:
        return sink_.phase_begun(in.text());
      case EventTag::slept:
        return slept(in);
      case EventTag::unobserved: {
        const auto unseen = in.number();
        return sink_.unobserved(unseen, in.number());
      }
      case EventTag::hinted:
        return hinted(in);
      case EventTag::covered:
        return sink_.covered(in.take(in.number()));
      case EventTag::noted: {
        const auto severity = in.text();
        return sink_.noted(severity, in.text());
      }
      case EventTag::finished:
        finished_ = true;
        return sink_.finished(in.text());
      case EventTag::runs:
        return sink_.runs(thread(in));
      case EventTag::alive:
        return sink_.alive(thread(in));
      case EventTag::follow: {
        const auto follower = thread(in);
        return sink_.follow(follower, thread(in));
      }
      case EventTag::meet:
        return meet(in);
      case EventTag::release:
        return sink_.release(in.number());
      case EventTag::acquire:
        return sink_.acquire(in.number());
    }
    throw Error(Code::corrupt, "a recording has an event of a kind that this version does not know");
  }

  static std::uint32_t thread(ColumnReader& in) {
    return static_cast<std::uint32_t>(in.number(k_most_recorded_threads));
  }

  void meet(ColumnReader& in) {
    threads_.clear();
    for (auto left = in.number(k_most_recorded_threads); left > 0; --left) threads_.push_back(thread(in));
    sink_.meet(threads_);
  }

  void hinted(ColumnReader& in) {
    observe::ProgramHint hint;
    hint.what = static_cast<observe::ProgramHint::What>(
        in.number(static_cast<std::uint64_t>(observe::ProgramHint::What::spares)));
    hint.of = in.text();
    hint.says = in.text();
    hint.value = in.time();
    sink_.hinted(hint);
  }

  void object_added(ColumnReader& in) {
    observe::NewObject object{};
    object.name = in.text();
    object.kind =
        static_cast<observe::ObjectKind>(in.number(static_cast<std::uint64_t>(observe::ObjectKind::named)));
    object.address = in.number(k_address_space);
    object.size = Bytes{in.number(k_address_space)};
    object.id = static_cast<ObjectId>(in.number(k_most_objects));
    object.first_chunk = static_cast<ChunkId>(in.number(memory::k_no_chunk - 1));
    object.chunks = static_cast<std::uint32_t>(in.number(memory::k_no_chunk - 1 - object.first_chunk));
    if (object.id != known_.objects || object.first_chunk != known_.chunks)
      throw Error(Code::corrupt, "a recording's objects are out of order");
    ++known_.objects;
    known_.chunks += object.chunks;
    large_objects_.added(object);
    sink_.object_added(object);
  }

  void slept(ColumnReader& in) {
    const Seconds duration{in.time()};
    // Negated, so that what is no number is refused.
    if (!(duration.value >= 0 && duration.value <= k_longest_sleep))
      throw Error(Code::corrupt, "a recording has an impossible sleep");
    sink_.slept(duration);
  }

  void object_removed(ColumnReader& in) {
    const auto id = in.number();
    if (id >= known_.objects) throw Error(Code::corrupt, "a recording frees an object that is not there");
    large_objects_.removed(id);
    sink_.object_removed(static_cast<ObjectId>(id));
  }

  void quantum(ColumnReader& in) {
    auto sums = quanta_.sums(in, known_.chunks, tally_);
    if (sums.misses > 0 && sink_.wants_misses()) {
      if (!has_misses_) {
        decompressor_.column(frame_->columns[k_classes], classes_);
        decompressor_.column(frame_->columns[k_lines], lines_);
        has_misses_ = true;
      }
      sums.quantum.misses = quanta_.misses(classes_, lines_);
    }
    sink_.quantum(sums.quantum, tally_);
  }

  ReplaySink& sink_;
  Decompressor& decompressor_;
  Known known_;
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
        if (head.number != 0) throw Error(Code::corrupt, "its process has no header");
        auto header = read_header(frame, decompressor);
        if (header.identity.process != head.process || header.identity.started_unix_ns != head.started_unix_ns)
          throw Error(Code::corrupt, "the header is of another process");
        index.processes.push_back({std::move(header), {}});
      } else {
        if (head.number != process->frames.size() + 1)
          throw Error(Code::corrupt, "it is frame " + std::to_string(head.number) +
                                         " of its process, after frame " + std::to_string(process->frames.size()));
        process->frames.push_back(frame);
      }
    } catch (const Error& error) {
      if (index.processes.empty()) throw Error(Code::corrupt, std::string("not a recording: ") + error.what());
      index.cut = "at byte " + std::to_string(at) + ": " + error.what();
      break;
    }
    at = end;
  }
  if (index.processes.empty()) throw Error(Code::corrupt, "an empty file is no recording");
  return index;
}

ReplayEnd replay_process(const RecordedProcess& process, ReplaySink& sink) {
  Decompressor decompressor;
  FrameReplay replay(process.header, sink, decompressor);
  ReplayEnd end;
  for (const auto& frame : process.frames) {
    if (!replay.tell(frame)) {
      end.reason = "at byte " + std::to_string(frame.at) + ": the frame is damaged";
      break;
    }
    ++end.frames;
  }
  end.finished = replay.finished();
  return end;
}

}  // namespace terrace::sim
