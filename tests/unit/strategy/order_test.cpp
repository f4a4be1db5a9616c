// Tests that all modules use the same order of places by speed, for every shipped machine file; and the effect of
// that order on planners, for a machine whose fast memory has the longer latency.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "machine/file/machine_file.hpp"
#include "model/moves.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {
namespace {
using machine::Machine;

constexpr std::uint64_t k_size = 16ULL << 20;  // of an object

// A problem with an object of one chunk in each of `places`; in phase k object k is swept `sweeps` times.
profile::Profile profile_of(const Machine& machine, InitiatorId initiator, double cores,
                            const std::vector<PlaceId>& places, double sweeps) {
  profile::Profile profile;
  profile.loop = "main";
  profile.initiator = initiator;
  profile.cores = cores;
  profile.exact = true;
  profile.places = places;
  auto& iteration = profile.iterations.emplace_back();
  const auto lines = sweeps * static_cast<double>(k_size) / static_cast<double>(machine.parts().line.value);
  const auto exposure = lines * machine::prefetched_exposure(machine.initiators().at(initiator), cores);
  for (std::uint32_t o = 0; o < places.size(); ++o) {
    profile.objects.push_back(
        {o, "object" + std::to_string(o), observe::ObjectKind::heap, Bytes{k_size}, Bytes{k_size}, o, 1, true});
    auto& phase = iteration.phases.emplace_back();
    phase.name = "phase" + std::to_string(o);
    phase.cells = {{o, lines, 0, exposure, lines / 100}};
    phase.samples = phase.samples_with_access = lines / 100;
    const auto& path = machine.path(initiator, places[o]);
    const auto swept = lines * static_cast<double>(machine.parts().line.value) / path.read.value;
    phase.time = std::max(Seconds{swept}, exposure * path.latency);
  }
  return profile;
}

std::vector<PlaceId> homes(const Machine& machine) {
  std::vector<PlaceId> homes;
  for (std::size_t d = 0; d < machine.domains().size(); ++d)
    homes.push_back(machine.home(static_cast<DomainId>(d)));
  return homes;
}

TEST(PlaceOrder, AllModules_UseTheMachinesOrder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TERRACE_SOURCE_DIR "/machines")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const auto machine = machine::read_machine_file(entry.path());
    const auto& name = machine.name();
    const auto budget = machine::fast_budget(machine, Bytes{1 << 20});
    // For each domain's initiator, with one active core and with all of them.
    for (std::size_t i = 0; i < machine.initiators().size(); ++i) {
      const auto initiator = static_cast<InitiatorId>(i);
      const double all = machine.initiators()[initiator].cores;
      for (const double cores : {1.0, all}) {
        const auto problem =
            model::make_problem(profile_of(machine, initiator, cores, homes(machine), 1), machine, budget);
        const auto fast = find_planner("fast-only").decide(problem, {}, Effort::quick).schedule.phases.front();
        const auto rank = model::speed_ranks(problem);
        for (std::size_t n = 0; n < machine.domains().size(); ++n) {
          const auto d = static_cast<DomainId>(n);
          const auto& order = machine.fastest_first(d);
          EXPECT_EQ(model::fastest_first(problem, d), order) << name;
          for (std::size_t at = 0; at < order.size(); ++at) EXPECT_EQ(rank[order[at]], at) << name;
          EXPECT_EQ(fast[d], order.front()) << name;  // domain d's object
          EXPECT_EQ(problem.places[order.front()].budget, Bytes{1 << 20}) << name << ": what --fast bounds";
        }
      }
    }
  }
  EXPECT_GE(files, 17U);
}

// MCDRAM has five times the bandwidth of DDR4 and the longer latency. Here every phase sweeps one object with all
// cores, so the bandwidth counts: an object is served five times as fast from MCDRAM, and there is room for all.
TEST(PlaceOrder, KnlMachine_HotDataStaysInFastMemory) {
  const auto machine = machine::read_machine_file(machine::find_machine("knl-7210-flat"));
  const auto mcdram = machine.find_kind(0, "hbm").value();
  ASSERT_EQ(machine.fastest_first(0).front(), mcdram);
  const auto profile = profile_of(machine, 0, 64, std::vector<PlaceId>(4, mcdram), 50);
  const auto problem = model::make_problem(profile, machine, machine::fast_budget(machine, Bytes{1ULL << 30}));
  const auto seconds_in = [&](PlaceId place) {
    return model::predict(problem, model::uniform_schedule(problem, {place})).total.value;
  };
  const auto all_fast = seconds_in(mcdram);
  ASSERT_NEAR(seconds_in(machine.home(0)) / all_fast, 314 / 60.8, 1e-3);
  for (const auto name : planner_names()) {
    const auto& planner = find_planner(name);
    for (const auto effort : {Effort::quick, Effort::unhurried, Effort::thorough}) {
      const auto decision = planner.decide(problem, {}, effort);
      for (const auto& move : model::derive_moves(problem, decision.schedule).moves)
        EXPECT_NE(move.from, mcdram) << name << " moves object " << move.item << " to slower memory";
      if (!planner.needs_profile()) continue;
      EXPECT_LE(decision.prediction.total.value, all_fast * (1 + 1e-9)) << name;
    }
  }
}

}  // namespace
}  // namespace terrace::strategy
