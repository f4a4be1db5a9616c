// Tests orderings against their definition: every place once, ranks equal to pairwise comparison, independence of
// the order of the parts, and precedence of stated orderings.
#include "machine/ordering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "core/error.hpp"
#include "example.hpp"

namespace terrace::machine {
namespace {

using Names = std::vector<std::set<std::string>>;

// Returns 0, 1, ..., one index for each part.
template <class Parts>
std::vector<std::uint16_t> ids(const Parts& parts) {
  std::vector<std::uint16_t> all(parts.size());
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

// Returns the ordering with each tie as a set of names.
Names names_of(const Machine& machine, InitiatorId initiator, std::string_view intent) {
  Names ranks;
  for (const auto& rank : ordering(machine, initiator, intent)) {
    auto& names = ranks.emplace_back();
    for (const auto place : rank) names.insert(machine.place(place).name);
  }
  return ranks;
}

// Returns a random machine with few distinct values, so that ties, near ties and chains of near ties occur.
MachineParts random_parts(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const char* kinds[] = {"hbm", "ddr", "cxl", "dram"};
  MachineParts parts;
  parts.name = "random";
  const int domains = 1 + below(3);
  const int places = domains + below(6);
  const bool distances = below(2) == 0;
  for (int p = 0; p < places; ++p) {
    Place place{"p" + std::to_string(p), kinds[below(4)], {(1ull << 30) * (20 + below(4))}, {4096}, 0, -1};
    place.domain = static_cast<DomainId>(p < domains ? p : below(domains));
    parts.places.push_back(place);
    if (below(8) == 0) set_geometry(parts, static_cast<PlaceId>(p));
  }
  for (int d = 0; d < domains; ++d) {
    Initiator initiator;
    initiator.name = "cores" + std::to_string(d);
    initiator.cores = static_cast<std::uint32_t>(1 + below(32));
    initiator.instruction_time = {1e-10};
    initiator.domain = static_cast<DomainId>(d);
    parts.initiators.push_back(initiator);
    parts.domains.push_back({"domain" + std::to_string(d), static_cast<InitiatorId>(d), {}});
    for (int p = 0; p < places; ++p) {
      const bool own = parts.places[static_cast<std::size_t>(p)].domain == d;
      if (!own && below(10) == 0) continue;  // paths to other domains may be absent
      Path path;
      path.initiator = static_cast<InitiatorId>(d);
      path.place = static_cast<PlaceId>(p);
      path.read = path.write = {1e9 * (20 + below(6))};
      path.latency = {1e-9 * (50 + 2 * below(6))};
      if (distances) path.distance = own ? 10 : 20 + below(3);
      parts.paths.push_back(path);
    }
  }
  return parts;
}

TEST(Ordering, EveryPlace_OnceWithRanksWithoutGaps) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    auto parts = random_parts(random);
    if (round % 2 == 0) parts.orderings = {{"mine", std::nullopt, {{{parts.places.back().name}, false}}}};
    const Machine machine(parts);
    for (const InitiatorId i : ids(machine.initiators())) {
      for (const auto& intent : intents(machine)) {
        const auto all = rank_places(machine, i, intent);
        std::set<PlaceId> seen;
        std::uint32_t rank = 0;
        for (const auto& one : all) {
          EXPECT_TRUE(seen.insert(one.place).second);
          EXPECT_LE(rank, one.rank);
          EXPECT_LE(one.rank, rank + 1);
          rank = one.rank;
        }
        EXPECT_EQ(all.front().rank, 0u);
        EXPECT_EQ(seen.size(), machine.places().size()) << intent;
      }
    }
  }
}

// Computes the definition place by place, without sorting: a place's rank is the number of ranks that begin before
// it; a rank begins with the best remaining place.
TEST(Ordering, RandomMachines_EqualDefinition) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const Machine machine(random_parts(random));
    for (const InitiatorId i : ids(machine.initiators())) {
      struct Case {
        const char* intent;
        double (*cost)(const Machine&, const Path&);
      };
      for (const auto& [intent, cost] :
           {Case{"bandwidth", [](const Machine&m,
                                 const Path&path) { return m.line_time_from(path.initiator, path.place).value; }},
            Case{"latency", [](const Machine&, const Path&path) { return path.latency.value; }},
            Case{"capacity", [](const Machine&m, const Path&path) {
                   return 1e20 / static_cast<double>(m.place(path.place).capacity.value);
                 }}}) {
        std::vector<PlaceId> left;
        Names expected;
        const auto take_ranks = [&, rule = cost] {
          while (!left.empty()) {
            double best = 1e300;
            for (const auto p : left) best = std::min(best, rule(machine, machine.path(i, p)));
            auto& rank = expected.emplace_back();
            std::erase_if(left, [&](PlaceId p) {
              const bool tie = rule(machine, machine.path(i, p)) <= 1.05 * best;
              if (tie) rank.insert(machine.place(p).name);
              return tie;
            });
          }
        };
        std::set<std::string> unseen;
        for (const bool computing : {false, true}) {
          for (const PlaceId p : ids(machine.places())) {
            if (machine.find_path(i, p) == nullptr) unseen.insert(machine.place(p).name);
            if (machine.find_path(i, p) != nullptr && machine.place(p).geometry.has_value() == computing)
              left.push_back(p);
          }
          take_ranks();
        }
        if (!unseen.empty()) expected.push_back(unseen);
        EXPECT_EQ(names_of(machine, i, intent), expected) << intent;
      }
    }
  }
}

TEST(Ordering, OrderOfPlaces_IsIrrelevant) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto parts = random_parts(random);
    auto order = ids(parts.places);
    std::shuffle(order.begin(), order.end(), random);  // new place n was order[n]
    auto other = parts;
    for (std::size_t n = 0; n < order.size(); ++n) other.places[n] = parts.places[order[n]];
    for (auto& path : other.paths)
      path.place = static_cast<PlaceId>(std::ranges::find(order, path.place) - order.begin());
    std::shuffle(other.paths.begin(), other.paths.end(), random);
    const Machine one(parts);
    const Machine two(other);
    for (const InitiatorId i : ids(one.initiators()))
      for (const auto& intent : intents(one)) EXPECT_EQ(names_of(one, i, intent), names_of(two, i, intent));
  }
}

TEST(Ordering, Bandwidth_AgreesWithFastestFirst) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const Machine machine(random_parts(random));
    for (const DomainId d : ids(machine.domains())) {
      std::vector<std::uint32_t> rank(machine.places().size());
      for (const auto& one : rank_places(machine, machine.domains()[d].initiator, "bandwidth"))
        rank[one.place] = one.rank;
      const auto& fastest = machine.fastest_first(d);
      EXPECT_TRUE(std::ranges::is_sorted(fastest, {}, [&](PlaceId p) { return rank[p]; }));
    }
  }
}

MachineParts with_latencies(const std::vector<double>& nanoseconds) {
  MachineParts parts;
  parts.name = "latencies";
  for (std::size_t p = 0; p < nanoseconds.size(); ++p) {
    parts.places.push_back({"p" + std::to_string(p), "nvm", {1ull << 30}, {4096}, 0, -1});
    parts.paths.push_back({0, static_cast<PlaceId>(p), {1e9}, {1e9}, {nanoseconds[p] * 1e-9}});
  }
  Initiator initiator;
  initiator.name = "cores";
  parts.initiators = {initiator};
  parts.domains = {{"domain", 0, {}}};
  return parts;
}

TEST(Ordering, Tie_IsNoChainOfSmallSteps) {
  const Machine machine(with_latencies({108, 100, 104, 112}));
  EXPECT_EQ(names_of(machine, 0, "latency"), (Names{{"p1", "p2"}, {"p0", "p3"}}));
}

TEST(Ordering, Basis_IsReported) {
  auto parts = with_latencies({100, 200});
  parts.paths[0].latency_source = Source::firmware;
  parts.paths[1].bandwidth_source = Source::measured;
  const Machine machine(parts);
  const auto latency = rank_places(machine, 0, "latency");
  EXPECT_EQ(latency[0].basis, Basis::latency);
  EXPECT_DOUBLE_EQ(latency[0].value, 100e-9);
  EXPECT_EQ(latency[0].source, Source::firmware);
  const auto bandwidth = rank_places(machine, 0, "bandwidth");
  EXPECT_EQ(bandwidth[1].source, Source::measured);
  // One core with 20 lines of 64 B in flight over 200 ns; each line occupies the memory for 64 ns.
  EXPECT_NEAR(bandwidth[1].value, 64 / (200e-9 / 20 + 64e-9), 1);
  EXPECT_EQ(rank_places(machine, 0, "capacity")[0].value, static_cast<double>(1ull << 30));
}

TEST(Ordering, RemotePlaces_AreRankedForEveryInitiator) {
  const Machine machine(example_parts());
  // Eight cores with 20 lines of 64 B each in flight read 40.8 GB/s from the other domain's HBM, whose latency is
  // 200 ns, and 50.6 from their own DDR; 64 cores read faster from HBM.
  EXPECT_EQ(names_of(machine, 0, "bandwidth"), (Names{{"hbm0"}, {"ddr0"}, {"hbm1"}, {"ddr1"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 1, "bandwidth"), (Names{{"hbm1"}, {"ddr1"}, {"hbm0"}, {"ddr0"}, {"cxl0"}}));
  auto many = example_parts();
  for (auto& initiator : many.initiators) initiator.cores = 64;
  EXPECT_EQ(names_of(Machine(many), 0, "bandwidth"), (Names{{"hbm0"}, {"hbm1"}, {"ddr0"}, {"ddr1"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 1, "latency"), (Names{{"ddr1"}, {"hbm1"}, {"ddr0"}, {"hbm0"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 0, "capacity"), (Names{{"cxl0"}, {"ddr0", "ddr1"}, {"hbm0"}, {"hbm1"}}));
  // Within a tie, the nearest place is first.
  EXPECT_EQ(ordering(machine, 1, "capacity")[1], (std::vector<PlaceId>{4, 1}));
}

TEST(Ordering, Normal_IsTheKernelsOrder) {
  auto parts = example_parts();
  EXPECT_EQ(names_of(Machine(parts), 0, "normal"), (Names{{"ddr0"}, {"hbm0"}, {"ddr1"}, {"hbm1"}, {"cxl0"}}));
  for (auto& path : parts.paths) {
    const auto& place = parts.places[path.place];
    const bool own = place.domain == path.initiator;
    path.distance = place.kind == "ddr" ? (own ? 10 : 21) : place.kind == "hbm" ? (own ? 31 : 41) : 21;
  }
  const Machine machine(parts);
  EXPECT_EQ(names_of(machine, 0, "normal"), (Names{{"ddr0"}, {"cxl0", "ddr1"}, {"hbm0"}, {"hbm1"}}));
  EXPECT_TRUE(rank_places(machine, 0, "normal")[0].own_ordinary);
  EXPECT_EQ(rank_places(machine, 0, "normal")[3].basis, Basis::distance);
  // If one distance is missing, latencies decide, because distances cannot rank that place.
  parts.paths[2].distance = 0;
  EXPECT_EQ(names_of(Machine(parts), 0, "normal"), (Names{{"ddr0"}, {"hbm0"}, {"ddr1"}, {"hbm1"}, {"cxl0"}}));
}

TEST(Ordering, Normal_OwnOrdinaryMemoryIsFirst) {
  auto parts = example_parts();
  for (auto& path : parts.paths)
    if (parts.places[path.place].kind == "hbm") path.latency = {50e-9};
  EXPECT_EQ(names_of(Machine(parts), 0, "normal").front(), (std::set<std::string>{"ddr0"}));
}

TEST(Ordering, PimAndUnknownPlaces_ComeLast) {
  auto parts = example_parts();
  set_geometry(parts, 0);
  std::erase_if(parts.paths, [](const Path& path) { return path.initiator == 0 && path.place == 3; });
  const Machine machine(parts);
  for (const char* intent : {"bandwidth", "latency", "capacity", "normal"}) {
    const auto ranks = names_of(machine, 0, intent);
    EXPECT_EQ(ranks[ranks.size() - 2], (std::set<std::string>{"hbm0"})) << intent;
    EXPECT_EQ(ranks.back(), (std::set<std::string>{"hbm1"})) << intent;
  }
  EXPECT_TRUE(rank_places(machine, 0, "latency")[3].computes);
  EXPECT_EQ(rank_places(machine, 0, "latency")[4].basis, Basis::no_path);
}

TEST(Ordering, StatedOrdering_TakesPrecedence) {
  auto parts = example_parts();
  parts.orderings = {{"scratch", InitiatorId{0}, {{{"cxl0"}, false}, {{"hbm0", "ddr1"}, true}}},
                     {"latency", std::nullopt, {{{"hbm1"}, false}}}};
  const Machine machine(parts);
  EXPECT_EQ(intents(machine), (std::vector<std::string>{"bandwidth", "latency", "capacity", "normal", "scratch"}));
  // Unnamed places follow in the order of `normal`.
  EXPECT_EQ(names_of(machine, 0, "scratch"), (Names{{"cxl0"}, {"hbm0", "ddr1"}, {"ddr0"}, {"hbm1"}}));
  EXPECT_EQ(names_of(machine, 1, "scratch"), names_of(machine, 1, "normal"));
  EXPECT_EQ(names_of(machine, 0, "latency").front(), (std::set<std::string>{"hbm1"}));
  EXPECT_EQ(rank_places(machine, 0, "latency")[0].basis, Basis::stated);
  EXPECT_EQ(rank_places(machine, 0, "latency")[1].basis, Basis::latency);
  EXPECT_NE(stated_ordering(machine, 0, "scratch"), nullptr);
  EXPECT_EQ(stated_ordering(machine, 1, "scratch"), nullptr);
  EXPECT_EQ(stated_ordering(machine, 0, "capacity"), nullptr);
}

TEST(Ordering, InitiatorsOrdering_TakesPrecedence) {
  auto parts = example_parts();
  parts.orderings = {{"mine", InitiatorId{1}, {{{"cxl0"}, false}}}, {"mine", std::nullopt, {{{"hbm0"}, false}}}};
  const Machine machine(parts);
  EXPECT_EQ(names_of(machine, 0, "mine").front(), (std::set<std::string>{"hbm0"}));
  EXPECT_EQ(names_of(machine, 1, "mine").front(), (std::set<std::string>{"cxl0"}));
}

TEST(Ordering, Kinds_StandForTheirPlaces) {
  auto parts = example_parts();
  parts.orderings = {{"by-kind", std::nullopt, {{{"ddr"}, false}, {{"hbm"}, true}}},
                     {"but-one", std::nullopt, {{{"ddr"}, false}, {{"ddr0"}, false}}},
                     {"none-left", std::nullopt, {{{"cxl"}, false}, {{"cxl0"}, false}, {{"hbm1"}, false}}}};
  const Machine machine(parts);
  EXPECT_EQ(names_of(machine, 0, "by-kind"), (Names{{"ddr0"}, {"ddr1"}, {"hbm0", "hbm1"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 1, "by-kind"), (Names{{"ddr1"}, {"ddr0"}, {"hbm0", "hbm1"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 0, "but-one"), (Names{{"ddr1"}, {"ddr0"}, {"hbm0"}, {"hbm1"}, {"cxl0"}}));
  EXPECT_EQ(names_of(machine, 0, "none-left"), (Names{{"cxl0"}, {"hbm1"}, {"ddr0"}, {"hbm0"}, {"ddr1"}}));
}

TEST(Ordering, UnknownIntent_Throws) {
  const Machine machine(example_parts());
  try {
    static_cast<void>(ordering(machine, 0, "bandwith"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_STREQ(error.what(),
                 "machine 'example' has no intent 'bandwith'; did you mean 'bandwidth'? There are bandwidth, "
                 "latency, capacity, normal");
  }
  EXPECT_THROW(static_cast<void>(ordering(machine, 2, "latency")), Error);
}

TEST(Ordering, Blob_RoundTrips) {
  auto parts = example_parts();
  parts.orderings = {{"scratch", InitiatorId{1}, {{{"cxl0"}, false}, {{"hbm0", "ddr1"}, true}}},
                     {"normal", std::nullopt, {{{"ddr"}, true}}}};
  parts.paths[0].distance = 13;
  parts.paths[0].bandwidth_source = Source::distance;
  parts.paths[0].latency_source = Source::firmware;
  const Machine machine(parts);
  const auto blob = blob_of(machine);
  BlobReader in(blob);
  const auto again = Machine::from_blob(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(again.parts().orderings, machine.parts().orderings);
  EXPECT_EQ(again.parts().paths[0].distance, 13);
  EXPECT_EQ(again.parts().paths[0].bandwidth_source, Source::distance);
  EXPECT_EQ(again.parts().paths[0].latency_source, Source::firmware);
  for (std::size_t n = 0; n < blob.size(); ++n) {
    BlobReader cut(std::span<const std::byte>(blob).first(n));
    EXPECT_THROW(Machine::from_blob(cut), Error) << n;
  }
}

TEST(Ordering, InvalidOrderings_AreRefused) {
  const auto refused = [](const StatedOrdering& ordering, const std::string& because) {
    auto parts = example_parts();
    parts.orderings = {ordering};
    try {
      const Machine machine(parts);
      ADD_FAILURE() << because;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_EQ(std::string(error.what()), "machine 'example': " + because);
    }
  };
  refused({"", std::nullopt, {{{"hbm0"}, false}}}, "an ordering has no intent");
  refused({"x", InitiatorId{2}, {{{"hbm0"}, false}}}, "ordering 'x': its initiator does not exist");
  refused({"x", std::nullopt, {}}, "ordering 'x': it names no place; name at least one");
  refused({"x", std::nullopt, {{{}, true}}},
          "ordering 'x': a tie names no place; leave it out, or name its places");
  refused({"x", std::nullopt, {{{"hbm0", "ddr0"}, false}}},
          "ordering 'x': several places are in one rank that is not a tie");
  refused({"x", std::nullopt, {{{"hbm0"}, false}, {{"ddr0", "hbm0"}, true}}},
          "ordering 'x': 'hbm0' is in it twice; keep one");
  refused({"x", std::nullopt, {{{"hbm00"}, false}}},
          "ordering 'x': there is no place and no kind 'hbm00'; did you mean 'hbm0'?");
  auto parts = example_parts();
  parts.orderings = {{"x", std::nullopt, {{{"hbm0"}, false}}}, {"x", std::nullopt, {{{"hbm1"}, false}}}};
  EXPECT_THROW(const Machine machine(parts), Error);
  parts = example_parts();
  parts.paths[0].distance = 255;
  EXPECT_THROW(const Machine machine(parts), Error);
}

}  // namespace
}  // namespace terrace::machine
