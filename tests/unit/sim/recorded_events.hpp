// Generates random programs as a recorder receives them, and the expected events of a replay, word for word.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "sim/recording/read/recording_reader.hpp"
#include "sim/recording/write/recording_writer.hpp"

namespace terrace::sim {

/// A temporary file of this test.
class TestFile {
 public:
  TestFile() {
    auto name = (std::filesystem::temp_directory_path() / "recording-XXXXXX").string();
    close(mkstemp(name.data()));
    path_ = name;
  }
  ~TestFile() { std::filesystem::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto all = std::as_bytes(std::span(text));
    return {all.begin(), all.end()};
  }

 private:
  std::string path_;
};

/// An error callback for a recorder that must not fail.
inline void never(const std::string& why) { ADD_FAILURE() << why; }

inline RecordingHeader example_header(std::uint32_t process = 7) {
  RecordingHeader header;
  header.identity = {process, 1, 1'700'000'000'000'000'000 + process, "host", "/bin/app", {"app", "--size", "1"}};
  header.caches = {64, 10, 64, 56, 16, {{32768, 8, false}, {1 << 20, 16, true}}, {1536, 12, 4096}};
  header.quantum_accesses = 16384;
  header.chunks_per_object = 64;
  header.smallest_chunk = 16384;
  header.largest_chunk = 1 << 30;
  return header;
}

/// Renders each event as a line of text: equal texts are equal events.
class Transcript {
 public:
  void quantum(const observe::Quantum& quantum, bool with_misses) {
    std::ostringstream text;
    text << "quantum " << quantum.thread << ' ' << quantum.accesses << ' ' << quantum.in_stride;
    for (const auto hits : quantum.hits) text << ' ' << hits;
    text << " walks " << quantum.walks;
    for (const auto& calls : quantum.calls) text << " " << calls.function << "x" << calls.count;
    if (with_misses)
      for (const auto& miss : quantum.misses)
        text << " (" << miss.chunk << ' ' << miss.line << ' ' << int{miss.weight} << ' '
             << static_cast<int>(miss.kind) << ')';
    lines.push_back(text.str());
  }
  void tally(const observe::Tally& tally) {
    std::ostringstream text;
    const auto put = [&](std::uint64_t chunk, const observe::ChunkTraffic& of) {
      text << " [" << chunk << ' ' << of.prefetched << ' ' << of.independent << ' ' << of.dependent << ' '
           << of.weight << ' ' << of.written << ']';
    };
    put(memory::k_no_chunk, tally.unowned());
    for (const auto& [chunk, traffic] : tally.chunks()) put(chunk, traffic);
    lines.push_back(text.str());
  }
  template <class... Words>
  void event(const char* name, const Words&... words) {
    std::ostringstream text;
    text.precision(17);
    text << name;
    ((text << ' ' << words), ...);
    lines.push_back(text.str());
  }
  std::vector<std::string> lines;
};

/// Writes a transcript of the events; requests single misses if `wants` returns true.
class TranscriptSink : public ReplaySink, public ThreadClocks {
 public:
  explicit TranscriptSink(bool wants) : wants_(wants) {}
  Transcript said;

  [[nodiscard]] bool wants_misses() const override { return wants_; }
  void quantum(const observe::Quantum& quantum, const observe::Tally& tally) override {
    said.quantum(quantum, wants_);
    said.tally(tally);
  }
  ThreadClocks& thread_clocks() override { return *this; }
  void on_object_added(const observe::NewObject& object) override {
    said.event("object", object.name, static_cast<int>(object.kind), object.address, object.size.value, object.id,
               object.first_chunk, object.chunks);
  }
  void on_hint(const observe::ProgramHint& hint) override {
    said.event("hinted", static_cast<int>(hint.what), hint.of, hint.says, hint.value);
  }
  void on_object_removed(ObjectId object) override { said.event("removed", object); }
  void on_loop_begin(const observe::NewLoop& loop) override {
    said.event("loop", loop.name, loop.why, loop.turns_before, loop.work_share);
  }
  void on_loop_end() override { said.event("loop ended"); }
  void on_phase_begin(std::string_view name) override { said.event("phase", name); }
  void on_sleep(Seconds duration) override { said.event("slept", duration.value); }
  void on_unobserved(std::uint64_t unseen, std::uint64_t dropped) override {
    said.event("unobserved", unseen, dropped);
  }
  void on_coverage(std::span<const std::byte> record) override {
    said.event("covered", std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
  }
  void on_loop_candidates(std::span<const std::byte> record) override {
    said.event("loops", std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
  }
  void on_mpi_statistics(std::span<const std::byte> record) override {
    said.event("mpi", std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
  }
  void on_note(std::string_view severity, std::string_view text) override { said.event("noted", severity, text); }
  void on_finish(std::string_view how) override { said.event("finished", how); }
  void set_running(std::uint32_t thread) override { said.event("runs", thread); }
  void set_num_alive(std::uint32_t threads) override { said.event("alive", threads); }
  void advance_to(std::uint32_t thread, std::uint32_t other) override { said.event("follow", thread, other); }
  void synchronize(std::span<const std::uint32_t> threads) override {
    said.event("meet", threads.size());
    for (const auto thread : threads) said.event("meets", thread);
  }
  void on_unlock(std::uint64_t thing) override { said.event("release", thing); }
  void on_lock(std::uint64_t thing) override { said.event("acquire", thing); }

 private:
  bool wants_;
};

/// Passes the same random program to a recorder and a transcript.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t seed, bool with_misses, std::uint64_t max_misses = 3000)
      : random_(seed), told_(with_misses), with_misses_(with_misses), max_misses_(max_misses) {}

  void play(RecordingWriter& to, int events, bool ends = true) {
    for (int i = 0; i < events; ++i) step(to);
    if (!ends) return;
    to.on_finish("exit");
    told_.on_finish("exit");
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return told_.said.lines; }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void step(RecordingWriter& to) {
    switch (chunks_ == 0 ? 0 : below(20)) {
      case 0:
        return add_object(to);
      case 1:
        return both(to, [id = static_cast<ObjectId>(below(objects_))](auto& s) { s.on_object_removed(id); });
      case 2:
        return both(to, [](auto& s) { s.on_loop_begin({"main", "it goes round", 2, false, 0.999999}); });
      case 3:
        return both(to, [](auto& s) { s.on_loop_end(); });
      case 4:
        return both(to, [&, name = "phase " + std::to_string(below(5))](auto& s) { s.on_phase_begin(name); });
      case 5:
        return both(to,
                    [time = 1e-3 / static_cast<double>(1 + below(999))](auto& s) { s.on_sleep(Seconds{time}); });
      case 6:
        ++unseen_;  // the recorder omits repeated values
        return both(to, [&, dropped = random_()](auto& s) { s.on_unobserved(unseen_, dropped); });
      case 7:
        return both(to, [](auto& s) { s.on_note("warning", std::string("a\0b\n", 4)); });
      case 8:
        // The recorder omits a thread that runs already.
        running_ = static_cast<std::uint32_t>(running_ + 1 + below(1U << 20)) % k_max_recorded_threads;
        return both(to, [&](auto& s) { s.set_running(running_); });
      case 9:
        return both(to, [alive = static_cast<std::uint32_t>(below(1000))](auto& s) { s.set_num_alive(alive); });
      case 10:
        return both(to, [a = static_cast<std::uint32_t>(below(300)),
                         b = static_cast<std::uint32_t>(below(300))](auto& s) { s.advance_to(a, b); });
      case 11: {
        std::vector<std::uint32_t> threads(below(5));
        for (auto& thread : threads) thread = static_cast<std::uint32_t>(below(k_max_recorded_threads));
        return both(to, [&](auto& s) { s.synchronize(threads); });
      }
      case 12:
        return both(to, [thing = random_()](auto& s) { s.on_unlock(thing); });
      case 13:
        return both(to, [thing = random_()](auto& s) { s.on_lock(thing); });
      case 14: {
        std::vector<std::byte> record(below(300));
        for (auto& byte : record) byte = static_cast<std::byte>(below(256));
        both(to, [&](auto& s) { s.on_coverage(record); });
        both(to, [&](auto& s) { s.on_loop_candidates(record); });
        return both(to, [&](auto& s) { s.on_mpi_statistics(record); });
      }
      case 15:
        return both(to, [what = static_cast<observe::ProgramHint::What>(below(4)),
                         value = 1e3 / static_cast<double>(1 + below(999))](auto& s) {
          s.on_hint({what, "niter", "2*nnz", value});
        });
      default:
        return add_quantum(to);
    }
  }
  template <class Event>
  void both(RecordingWriter& to, Event event) {
    event(to);
    event(told_);
  }
  void add_object(RecordingWriter& to) {
    observe::NewObject object{};
    object.name = "an object";
    object.kind = static_cast<observe::ObjectKind>(below(7));
    object.address = below(1ULL << 47);
    object.size = Bytes{1 + below(1ULL << 40)};
    object.id = objects_++;
    object.first_chunk = chunks_;
    object.chunks = static_cast<std::uint32_t>(1 + below(200));
    chunks_ += object.chunks;
    both(to, [&](auto& s) { s.on_object_added(object); });
  }
  // Streams, chains and noise alternately, with and without memory that belongs to no object.
  void add_quantum(RecordingWriter& to) {
    std::vector<observe::Miss> misses(below(below(3) == 0 ? max_misses_ : 40));
    const auto noise = below(4);
    std::uint16_t line = 0;
    for (auto& miss : misses) {
      const bool random = below(4) < noise;
      miss.chunk = random && below(9) == 0 ? memory::k_no_chunk
                                           : static_cast<std::uint32_t>(random ? below(chunks_) : chunks_ / 2);
      miss.line = random ? static_cast<std::uint16_t>(below(65536)) : line++;
      miss.kind = static_cast<observe::MissKind>(random ? below(4) : 0);
      const bool waits = miss.kind == observe::MissKind::dependent || miss.kind == observe::MissKind::independent;
      if (waits && below(3) != 0) miss.weight = static_cast<std::uint8_t>(below(256));
    }
    std::vector<observe::LibraryCalls> calls;
    for (std::uint32_t function = 0; function < machine::k_library_functions; ++function)
      if (below(9) == 0) calls.push_back({function, static_cast<std::uint32_t>(1 + below(30))});
    observe::Quantum quantum{
        static_cast<std::uint32_t>(below(3)), below(16385), below(1U << 20), {}, misses, calls};
    for (auto& hits : quantum.hits) hits = below(16385);
    quantum.walks = below(quantum.hits[1] + quantum.hits[2] + quantum.hits[3] + 1);
    running_ = quantum.thread;
    quantum.in_stride = below(2) == 0;
    to.quantum(quantum);
    told_.said.quantum(quantum, with_misses_);
    observe::Tally tally;
    tally.count(quantum);
    told_.said.tally(tally);
  }

  std::mt19937_64 random_;
  TranscriptSink told_;
  bool with_misses_;
  std::uint64_t max_misses_;  // of a quantum
  std::uint32_t objects_ = 0;
  ChunkId chunks_ = 0;
  std::uint64_t unseen_ = 0;
  std::uint32_t running_ = 0;
};

}  // namespace terrace::sim
