// SPDX-License-Identifier: Apache-2.0
// Drives a runtime with the events of a recording (a file of cache misses, objects and phases) instead of a
// program, for `terrace replay`. See replay.hpp.
#include "runtime/replay/replay.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "profile/records.hpp"
#include "runtime/assembly/configurations.hpp"
#include "runtime/runtime.hpp"

namespace terrace::runtime {

namespace {

class Replay final : public sim::ReplaySink {
 public:
  Replay(const sim::RecordedProcess& recorded, const Session& session)
      : chunk_rule_{recorded.header.chunks_per_object, Bytes{recorded.header.smallest_chunk},
                    Bytes{recorded.header.largest_chunk}} {
    RuntimeParts parts;
    granule_ = parts.granule;
    for (const auto& configuration : session.configurations) {
      auto built =
          build_configuration(session, configuration, session.hooks ? ProfileSource::hooks : ProfileSource::none,
                              recorded.header.identity);
      for (auto* sink : built.sinks) sinks_.add(*sink);
      clocks_.push_back(built.parts.clock);
      if (built.thread_clocks) thread_clocks_.add(*built.thread_clocks);
      chunks_ = built.parts.chunks;
      built.parts.totals = [this, of_configuration = std::move(built.parts.totals)] {
        auto totals = of_configuration();
        totals.unseen = unseen_;
        totals.dropped = dropped_;
        return totals;
      };
      parts.configurations.push_back(std::move(built.parts));
    }
    parts.coverage = [this] { return coverage_; };
    parts.domain = session.configurations.front().domain;
    parts.chunk_rule = chunk_rule_;
    parts.progress = &observe::find_progress(session.progress);
    runtime_ = std::make_unique<Runtime>(std::move(parts));
  }

  [[nodiscard]] bool wants_misses() const override { return sinks_.wants_misses(); }
  void quantum(const observe::Quantum& quantum, const observe::Tally& tally) override {
    sinks_.on_tally(quantum, tally);
    runtime_->on_quantum(quantum);
  }
  void on_object_added(const observe::NewObject& object) override {
    // Later misses refer to chunks by number, so all would be wrong if objects were cut into other chunks. Checked
    // before the object is created, because a wrong cut may have a great many chunks.
    const auto extent = extent_of(chunk_rule_, granule_, object.address, object.size);
    const bool as_recorded = extent.chunks == object.chunks && chunks_->size() == object.first_chunk;
    if (!as_recorded ||
        runtime_->add_object(object.name, object.kind, reinterpret_cast<const void*>(object.address),
                             object.size) != object.id)
      throw Error(Code::corrupt,
                  "the recording's object \"" + std::string(object.name) +
                      "\" has other chunks (units of migration) than this version of Terrace makes; record again "
                      "with this version");
  }
  void on_hint(const observe::ProgramHint& hint) override {
    const auto complaint = runtime_->on_hint(hint);
    if (!complaint.empty())
      throw Error(Code::corrupt,
                  "the recording is damaged: it has a hint that no program gives (" + complaint + ")");
  }
  void on_object_removed(ObjectId object) override { runtime_->remove_object(object); }
  void on_loop_begin(const observe::NewLoop& loop) override { runtime_->loop_begin(loop); }
  void on_loop_end() override { runtime_->loop_end(); }
  void on_phase_begin(std::string_view name) override { runtime_->phase(name); }
  void on_sleep(Seconds duration) override {
    for (auto* const clock : clocks_) clock->charge(duration);
  }
  void on_unobserved(std::uint64_t unseen, std::uint64_t dropped) override {
    unseen_ = unseen;
    dropped_ = dropped;
  }
  void on_coverage(std::span<const std::byte> record) override {
    BlobReader in(record);
    profile::decode(in, coverage_.emplace());
  }
  void on_loop_candidates(std::span<const std::byte> record) override {
    BlobReader in(record);
    profile::LoopsRecord loops;
    profile::decode(in, loops);
    runtime_->on_loop_candidates(loops);
  }
  void on_mpi_statistics(std::span<const std::byte> record) override {
    BlobReader in(record);
    profile::MpiRecord mpi;
    profile::decode(in, mpi);
    runtime_->on_mpi_statistics(mpi);
  }
  void on_note(std::string_view severity, std::string_view text) override { runtime_->note(severity, text); }
  void on_finish(std::string_view how) override { runtime_->finish(how); }

  sim::ThreadClocks& thread_clocks() override { return thread_clocks_; }

 private:
  observe::Tee sinks_;
  std::vector<Clock*> clocks_;
  std::mutex mutex_;
  sim::BroadcastThreadClocks thread_clocks_{mutex_};
  memory::ChunkTable* chunks_ = nullptr;  // a configuration's; all have the same chunks
  ChunkRule chunk_rule_;
  Bytes granule_;
  std::uint64_t unseen_ = 0, dropped_ = 0;
  std::optional<profile::CoverageRecord> coverage_;  // as it was recorded
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace

sim::ReplayEnd replay(const sim::RecordedProcess& recorded, const Session& session, std::uint64_t iterations) {
  for (const auto& configuration : session.configurations) {
    const auto shape =
        sim::cache_shape(configuration.machine, configuration.machine.domains()[configuration.domain].initiator);
    const auto difference = sim::difference(recorded.header.caches, shape, "recorded", "there");
    if (!difference.empty())
      throw Error(Code::invalid, "the misses were recorded with other caches than " +
                                     configuration.machine.name() + " has (" + difference +
                                     "); record on that machine (terrace simulate --machine), or give --cache");
  }
  Replay sink(recorded, session);
  return sim::replay_process(recorded, sink, iterations);
}

}  // namespace terrace::runtime
