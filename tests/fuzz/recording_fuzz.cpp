// Fuzzes the reader of recordings: whatever the bytes, it returns or throws terrace::Error, reads nothing outside
// of its input, and tells of no chunk and no object that was not there before; with and without single misses it
// tells the same.
//
// The first byte chooses. Even: the rest is a recording as it stands, and mostly dies at its checksums. Odd: the
// rest is cut into columns, which are compressed and get right heads, so that what they hold is reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/blob.hpp"
#include "core/error.hpp"
#include "recording_input.hpp"
#include "sim/recording/read/recording_reader.hpp"

namespace {

using terrace::ChunkId;
using namespace terrace::sim;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

class Checker final : public ReplaySink, public ThreadClocks {
 public:
  explicit Checker(bool wants) : wants_(wants) {}
  std::uint64_t quanta = 0, traffic = 0;

  [[nodiscard]] bool wants_misses() const override { return wants_; }
  void quantum(const terrace::observe::Quantum& quantum, const terrace::observe::Tally& tally) override {
    ++quanta;
    for (const auto& [chunk, of] : tally.chunks()) {
      require(chunk < chunks_);
      traffic += of.read() + of.written;
    }
    traffic += tally.unowned().read() + tally.unowned().written;
    if (!wants_) return;
    terrace::observe::Tally again;
    again.count(quantum);
    for (const auto& [chunk, of] : tally.chunks()) {
      if (of.read() + of.written == 0) continue;  // a class without misses
      const auto* counted = again.find(chunk);
      require(counted && counted->prefetched == of.prefetched && counted->independent == of.independent &&
              counted->dependent == of.dependent && counted->weight == of.weight &&
              counted->written == of.written);
    }
  }
  ThreadClocks& thread_clocks() override { return *this; }
  void on_object_added(const terrace::observe::NewObject& object) override {
    require(object.id == objects_ && object.first_chunk == chunks_);
    ++objects_;
    chunks_ += object.chunks;
    text(object.name);
  }
  void on_hint(const terrace::observe::ProgramHint& hint) override {
    text(hint.of);
    text(hint.says);
  }
  void on_object_removed(terrace::ObjectId object) override { require(object < objects_); }
  void on_loop_begin(const terrace::observe::NewLoop& loop) override {
    text(loop.name);
    text(loop.why);
  }
  void on_phase_begin(std::string_view name) override { text(name); }
  void on_coverage(std::span<const std::byte> record) override {
    text({reinterpret_cast<const char*>(record.data()), record.size()});
  }
  void on_loop_candidates(std::span<const std::byte> record) override { on_coverage(record); }
  void on_mpi_statistics(std::span<const std::byte> record) override { on_coverage(record); }
  void on_note(std::string_view severity, std::string_view said) override {
    text(severity);
    text(said);
  }
  void on_finish(std::string_view how) override { text(how); }
  void set_running(std::uint32_t thread) override { require(thread <= k_max_recorded_threads); }
  void set_num_alive(std::uint32_t) override {}
  void advance_to(std::uint32_t thread, std::uint32_t other) override {
    require(thread <= k_max_recorded_threads && other <= k_max_recorded_threads);
  }
  void synchronize(std::span<const std::uint32_t> threads) override {
    for (const auto thread : threads) require(thread <= k_max_recorded_threads);
  }
  void on_unlock(std::uint64_t) override {}
  void on_lock(std::uint64_t) override {}

 private:
  // Every byte is there to be read.
  static void text(std::string_view said) {
    volatile char sum = 0;
    for (const char c : said) sum = static_cast<char>(sum ^ c);
  }
  bool wants_;
  std::uint64_t objects_ = 0;
  std::uint64_t chunks_ = 0;
};

RecordingHeader header() {
  auto made = example_header();
  made.caches.line = 64;
  return made;
}

// Replays a process; returns the number of quanta and their traffic, or -1 after an exception.
std::pair<std::int64_t, std::uint64_t> tell(const RecordedProcess& process, bool wants) {
  Checker checker(wants);
  try {
    replay_process(process, checker);
  } catch (const terrace::Error&) {
    return {-1, 0};
  }
  return {static_cast<std::int64_t>(checker.quanta), checker.traffic};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const bool repaired = (data[0] & 1) != 0;
  const auto made = repaired ? recording_of(input, header()) : std::vector<std::byte>();
  try {
    const auto index = index_recording(repaired ? std::span<const std::byte>(made) : input);
    for (const auto& process : index.processes) {
      const auto sums = tell(process, false);
      const auto misses = tell(process, true);
      // Misses may be damaged where the sums are not, never the other way round.
      require(misses.first < 0 || misses == sums);
    }
  } catch (const terrace::Error&) {
  }
  return 0;
}
