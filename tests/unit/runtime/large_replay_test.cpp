// Tests replays of small recordings with large content: valid ones are replayed, and the cost is bounded by the
// content.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.hpp"
#include "machine/example.hpp"
#include "runtime/replay/replay.hpp"
#include "sim/recorded_events.hpp"

namespace terrace::runtime {
namespace {

class Replays : public testing::Test {
 protected:
  Replays() {
    header_.caches = sim::cache_shape(machine_, machine_.domains().front().initiator);
    std::filesystem::create_directory(folder());
    session_.mode = "replay";
    session_.backend = runtime::Backend::virtual_time;
    session_.directory = folder();
    session_.sample_interval = Seconds{1e-6};
    auto& configuration = session_.configurations.emplace_back(runtime::SessionConfiguration{"", machine_});
    configuration.planner = "slow-only";
    configuration.budget.assign(machine_.places().size(), Bytes{std::uint64_t{1} << 50});
    configuration.calibration.places.resize(machine_.places().size(), {1e9, 1, 1});
    configuration.keep_exact = true;
  }
  ~Replays() override { std::filesystem::remove_all(folder()); }

  [[nodiscard]] std::string folder() const { return file_.path() + ".journals"; }
  sim::ReplayEnd replayed() {
    const auto bytes = file_.bytes();
    return replay(sim::index_recording(bytes).processes.front(), session_);
  }
  [[nodiscard]] std::uintmax_t journal_bytes() const {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) bytes += entry.file_size();
    return bytes;
  }

  machine::Machine machine_{machine::example_parts()};
  sim::TestFile file_;
  sim::RecordingHeader header_ = sim::example_header();
  runtime::Session session_;
};

observe::NewObject object_of(std::uint64_t size, std::uint32_t id, std::uint32_t chunks) {
  observe::NewObject object{};
  object.name = "field";
  object.address = 0x10000;
  object.size = Bytes{size};
  object.id = id;
  object.first_chunk = id * chunks;
  object.chunks = chunks;
  return object;
}

TEST_F(Replays, ManyThreadsTerabytesAndIterations_ReplayAtBoundedCost) {
  constexpr std::uint32_t k_objects = 100, k_chunks = 1024, k_threads = 1000, k_iterations = 200;
  {
    sim::RecordingWriter writer(file_.path(), header_, sim::never);
    for (std::uint32_t id = 0; id < k_objects; ++id)
      writer.on_object_added(object_of(std::uint64_t{1} << 40, id, k_chunks));
    writer.set_num_alive(k_threads);
    for (std::uint32_t thread = 1; thread < k_threads; ++thread) writer.advance_to(thread, 0);
    writer.on_loop_begin({"main"});
    for (std::uint32_t i = 0; i < k_iterations; ++i) {
      writer.on_phase_begin("step");
      const observe::Miss miss{i * 500, 0, 0, observe::MissKind::independent};
      writer.quantum({i % k_threads, 16384, 16384, {}, {&miss, 1}});
    }
    writer.on_loop_end();
    writer.on_finish("exit");
  }
  EXPECT_TRUE(replayed().finished);
  // The places of all chunks are in the journal once for the objects and once for all iterations, not 200 times.
  constexpr auto k_places = std::uintmax_t{k_objects} * k_chunks * sizeof(PlaceId);
  EXPECT_LT(journal_bytes(), 2 * k_places + (std::uintmax_t{1} << 20));
}

TEST_F(Replays, ObjectWithOtherChunks_IsRejectedBeforeItsCreation) {
  {
    sim::RecordingWriter writer(file_.path(), header_, sim::never);
    writer.on_object_added(object_of(std::uint64_t{1} << 56, 0, 1));
    writer.on_finish("exit");
  }
  try {
    replayed();
    FAIL() << "was replayed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::corrupt);
    EXPECT_NE(std::string(error.what()).find("\"field\" has other chunks"), std::string::npos) << error.what();
  }
  EXPECT_LT(journal_bytes(), std::uintmax_t{1} << 20);
}

// At times so late that doubles cannot distinguish the ends of a slot.
TEST_F(Replays, ThreadsAfterVeryLongSleeps_Continue) {
  {
    sim::RecordingWriter writer(file_.path(), header_, sim::never);
    writer.set_num_alive(2);
    writer.advance_to(1, 0);
    const observe::Miss miss{memory::k_no_chunk, 0, 0, observe::MissKind::independent};
    for (int i = 0; i < 10000; ++i) {
      writer.on_sleep(Seconds{1e10});
      if (i % 100 == 0) writer.quantum({0, 16384, 16384, {}, {&miss, 1}});
    }
    writer.on_finish("exit");
  }
  EXPECT_TRUE(replayed().finished);
}

}  // namespace
}  // namespace terrace::runtime
