// Tests the machine value: derived properties, refused parts, and round trips through bytes.
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "example.hpp"

namespace terrace::machine {
namespace {

TEST(Machine, PlacesOfDomain_AreOrderedByLatencyAndLineTime) {
  const Machine machine(example_parts());
  EXPECT_EQ(machine.domains()[0].places, (std::vector<PlaceId>{1, 0, 2}));  // 100, 120, 300 ns
  // 64 B for 8 cores with 20 lines each: HBM 120/160 + 0.16 ns, DDR 100/160 + 0.64 ns, CXL 300/160 + 2.56 ns.
  EXPECT_EQ(machine.fastest_first(0), (std::vector<PlaceId>{0, 1, 2}));
  auto parts = example_parts();
  parts.initiators[0].cores = 1;  // 120/20 + 0.16 against 100/20 + 0.64: one core cannot use HBM's bandwidth
  EXPECT_EQ(Machine(parts).fastest_first(0), (std::vector<PlaceId>{1, 0, 2}));
}

TEST(Machine, FindPlace_ByNameAndByKindInDomain) {
  const Machine machine(example_parts());
  EXPECT_EQ(machine.find_place("cxl0"), PlaceId{2});
  EXPECT_EQ(machine.find_place("cxl9"), std::nullopt);
  EXPECT_EQ(machine.find_kind(0, "hbm"), PlaceId{0});
  EXPECT_EQ(machine.find_kind(1, "hbm"), PlaceId{3});
  EXPECT_EQ(machine.find_kind(1, "cxl"), std::nullopt);
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"hbm", "ddr", "cxl"}));
}

TEST(Machine, Home_IsLargestPlaceAndOfEqualsTheSlower) {
  EXPECT_EQ(Machine(example_parts()).home(0), PlaceId{2});
  EXPECT_EQ(Machine(example_parts()).home(1), PlaceId{4});
  auto parts = example_parts();
  parts.places[0].capacity = parts.places[2].capacity;
  EXPECT_EQ(Machine(parts).home(0), PlaceId{2});
}

TEST(Machine, PimPlace_IsNoHomeAndComesLast) {
  auto parts = example_parts();
  set_geometry(parts, 3);  // the fastest of domain 1
  EXPECT_EQ(Machine(parts).fastest_first(1), (std::vector<PlaceId>{4, 3}));
  EXPECT_EQ(Machine(parts).home(1), PlaceId{4});
  parts.places[4].capacity = {1ull << 30};  // less than its capacity
  const Machine machine(parts);
  EXPECT_EQ(machine.home(1), PlaceId{4});
  EXPECT_EQ(whole_budget(machine), (Budget{{16ull << 30}, {64ull << 30}, {128ull << 30}, {0}, {1ull << 30}}));
  EXPECT_EQ(fast_budget(machine, {1u << 20})[4].value, 1u << 20)
      << "the fastest place that is not processing in memory";
  EXPECT_EQ(fast_budget(machine, {1u << 20})[3].value, 0u);
  EXPECT_EQ(parse_budget(machine, "ddr=1GiB")[3].value, 0u);
  EXPECT_EQ(parse_budget(machine, "hbm=1GiB")[3].value, 1u << 30) << "a budget that names its kind allows it";
  EXPECT_EQ(parse_budget(machine, "hbm1=2GiB")[3].value, 2u << 30);
  parts.places[4].domain = 0;  // the only place of its domain
  parts.nodes.clear();
  EXPECT_EQ(Machine(parts).home(1), PlaceId{3});
  EXPECT_EQ(whole_budget(Machine(parts))[3].value, 4ull << 30);
}

TEST(Machine, CopyBandwidth_IsLesserRateUnlessStated) {
  auto parts = example_parts();
  EXPECT_EQ(Machine(parts).copy_bandwidth(1, 0).value, 100e9);   // DDR read 100, HBM write 200
  EXPECT_EQ(Machine(parts).copy_bandwidth(0, 2).value, 12.5e9);  // CXL write 12.5
  parts.copies.push_back({1, 0, {20e9}});
  EXPECT_EQ(Machine(parts).copy_bandwidth(1, 0).value, 20e9);
  EXPECT_EQ(Machine(parts).copy_bandwidth(0, 1).value, 50e9);
}

TEST(Machine, NoTree_BecomesFlatTree) {
  const Machine machine(example_parts());
  ASSERT_EQ(machine.nodes().size(), 6u);
  EXPECT_FALSE(machine.nodes()[0].parent);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(machine.nodes()[i].parent, 0u);
}

TEST(Machine, MissingPath_IsNamed) {
  auto parts = example_parts();
  std::erase_if(parts.paths, [](const Path& path) { return path.initiator == 1 && path.place == 2; });
  const Machine machine(parts);  // a path to another domain's place may be absent
  try {
    (void)machine.path(1, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_STREQ(error.what(), "machine 'example' has no path cores1 -> cxl0; add a [[path]] to its file");
  }
}

TEST(Machine, InvalidParts_AreRefused) {
  struct Case {
    const char* text;
    std::function<void(MachineParts&)> spoil;
  };
  const Case cases[] = {
      {"it has no place", [](auto& p) { p.places.clear(); }},
      {"two places are called 'hbm0'; names must be unique", [](auto& p) { p.places[3].name = "hbm0"; }},
      {"place 'ddr0': its capacity is 0; it must be above 0", [](auto& p) { p.places[1].capacity = {0}; }},
      {"place 'ddr0': its granule of 5000 bytes is not a power of two",
       [](auto& p) { p.places[1].granule = {5000}; }},
      {"place 'hbm0': its geometry: rows: there are 0; there must be at least 1",
       [](auto& p) {
         p.places[0].geometry = {0, 65536, 16, 8, 1};
       }},
      {"place 'hbm0': its geometry: columns: 12 are no whole bytes; give a multiple of 8",
       [](auto& p) {
         p.places[0].geometry = {1024, 12, 16, 8, 1};
       }},
      {"place 'hbm0': its geometry: subarrays: 256 banks of 257 are more than the 65536 that a device can have",
       [](auto& p) {
         p.places[0].geometry = {1024, 8, 257, 256, 1};
       }},
      {"place 'hbm0': its geometry: rows: 65537 devices x 1 bank x 65536 subarrays x 1 row x 8 columns have more "
       "than 4294967296 rows in all subarrays together",
       [](auto& p) {
         p.places[0].geometry = {1, 8, 65536, 1, 65537};
       }},
      {"place 'hbm0': its capacity is 16GiB, but 2 devices x 8 banks x 16 subarrays x 1024 rows x 65536 columns "
       "hold 2GiB",
       [](auto& p) {
         p.places[0].geometry = {1024, 65536, 16, 8, 2};
       }},
      {"path cores0 -> hbm0: its read bandwidth is not above 0", [](auto& p) { p.paths[0].read = {0}; }},
      {"path cores0 -> hbm0: its write bandwidth is not above 0",
       [](auto& p) { p.paths[0].write = {std::numeric_limits<double>::quiet_NaN()}; }},
      {"path cores0 -> hbm0: its latency is not above 0", [](auto& p) { p.paths[0].latency = {-1}; }},
      {"path cores0 -> hbm0: it is given twice", [](auto& p) { p.paths.push_back(p.paths[0]); }},
      {"domain 'socket0': there is no path cores0 -> cxl0", [](auto& p) { p.paths.erase(p.paths.begin() + 2); }},
      {"domain 'socket1': it has no place", [](auto& p) { p.places[3].domain = p.places[4].domain = 0; }},
      {"copy hbm0 -> ddr0: its bandwidth is not above 0",
       [](auto& p) {
         p.copies.push_back({0, 1, {0}});
       }},
      {"initiator 'cores1': it has 0 cores; it must have at least 1", [](auto& p) { p.initiators[1].cores = 0; }},
      {"initiator 'cores0': its miss parallelism is below 1; one miss at a time is the least",
       [](auto& p) { p.initiators[0].mlp = 0; }},
      {"initiator 'cores0': cache 'l2': its size 256B is less than one line for each way",
       [](auto& p) { p.initiators[0].caches[0].size = {256}; }},
      {"the tree has a second root, 'other'; give it a parent",
       [](auto& p) {
         p = Machine(p).parts();
         p.nodes.push_back({"other", std::nullopt, std::nullopt});
       }},
      {"initiator 'cores0': its TLB has 300 ways; it must have 1 to 255",
       [](auto& p) {
         p.initiators[0].tlb = {600, 300, {4096}, {3e-9}};
       }},
      {"initiator 'cores0': its TLB has 64 entries; they must be a multiple of its 12 ways, and at most 1048576",
       [](auto& p) {
         p.initiators[0].tlb = {64, 12, {4096}, {3e-9}};
       }},
      {"initiator 'cores0': its TLB has pages of 2KiB; they must be a power of two from 4KiB on, and no smaller "
       "than a line",
       [](auto& p) {
         p.initiators[0].tlb = {64, 4, {2048}, {3e-9}};
       }},
      {"initiator 'cores0': what a page walk of its TLB costs is not above 0",
       [](auto& p) {
         p.initiators[0].tlb = {64, 4, {4096}, {}};
       }},
      {"the tree has a cycle through 'a'",
       [](auto& p) {
         p = Machine(p).parts();
         p.nodes.push_back({"a", 7, std::nullopt});
         p.nodes.push_back({"b", 6, std::nullopt});
       }},
      {"place 'ddr1' is not in the tree",
       [](auto& p) {
         p = Machine(p).parts();
         p.nodes.pop_back();
       }},
      {"node 'x' is below the place 'hbm0'; a place is a leaf",
       [](auto& p) {
         p = Machine(p).parts();
         p.nodes.push_back({"x", 1, std::nullopt});
       }},
  };
  for (const auto& c : cases) {
    auto parts = example_parts();
    c.spoil(parts);
    try {
      const Machine machine(parts);
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_EQ(std::string(error.what()), std::string("machine 'example': ") + c.text);
    }
  }
}

TEST(MachineBlob, RoundTrip_EqualsInput) {
  auto parts = example_parts();
  parts.description = "what it is";
  parts.fingerprint = "f00d";
  parts.copies.push_back({1, 0, {20e9}});
  const auto blob = blob_of(Machine(parts));
  BlobReader in(blob);
  const auto again = Machine::from_blob(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(blob_of(again), blob);
  EXPECT_EQ(again.place(4).numa_node, 1);
  EXPECT_EQ(again.place(0).numa_node, -1);
  EXPECT_EQ(again.initiators()[1].caches[1].ways, 20u);
  EXPECT_EQ(again.domains()[1].places, (std::vector<PlaceId>{4, 3}));
  EXPECT_EQ(again.copy_bandwidth(1, 0).value, 20e9);
}

TEST(MachineBlob, TruncatedOrDamaged_Throws) {
  const auto blob = blob_of(Machine(example_parts()));
  for (std::size_t n = 0; n < blob.size(); ++n) {
    BlobReader in(std::span<const std::byte>(blob).first(n));
    EXPECT_THROW(Machine::from_blob(in), Error) << n;
  }
  // Any changed byte gives a machine or an Error, and never reads past the end (asan checks).
  for (std::size_t at = 0; at < blob.size(); ++at) {
    auto damaged = blob;
    damaged[at] = std::byte{0xff};
    BlobReader in(damaged);
    try {
      (void)Machine::from_blob(in);
    } catch (const Error&) {
    }
  }
}

TEST(Budget, Kind_AppliesToEachDomain) {
  const Machine machine(example_parts());
  const auto budget = parse_budget(machine, "hbm=4GiB,ddr1=10GiB,ddr=32GiB");
  EXPECT_EQ(budget[0].value, 4ull << 30);
  EXPECT_EQ(budget[1].value, 32ull << 30);
  EXPECT_EQ(budget[2], machine.place(2).capacity);  // not mentioned: all of it
  EXPECT_EQ(budget[3].value, 4ull << 30);
  EXPECT_EQ(budget[4].value, 10ull << 30);  // an entry of a place overrides its kind
}

TEST(Budget, PlainSize_IsOfFastestKind) {
  const auto budget = parse_budget(Machine(example_parts()), "256MiB");
  EXPECT_EQ(budget[0].value, 256ull << 20);
  EXPECT_EQ(budget[3].value, 256ull << 20);
  EXPECT_EQ(budget[1].value, 64ull << 30);
}

TEST(Budget, Format_IsCanonical) {
  EXPECT_EQ(format_budget("hbm=1000000,ddr1=1024MiB"), "hbm=1MB,ddr1=1GiB");
  EXPECT_EQ(format_budget("1000000"), "1MB");
  const Machine machine(example_parts());
  for (const char* text : {"hbm=1000001,ddr=1.5GiB", "hbm0=3GB", "200MB", "0"}) {
    EXPECT_EQ(parse_budget(machine, format_budget(text)), parse_budget(machine, text));
    EXPECT_EQ(format_budget(format_budget(text)), format_budget(text));
  }
  for (const char* text : {"", "hbm", "hbm=lots", "hbm=1,", "hbm=1,hbm=2", "=1"})
    EXPECT_THROW(format_budget(text), Error) << text;
}

// A budget must allow the memory that planners and fast-only use first.
TEST(Budget, KindWithSeveralPlaces_IsFilledFastestFirst) {
  auto parts = example_parts();
  parts.places[2].kind = "hbm";  // cxl0 becomes a nearer HBM of domain 0 with a sixteenth of the bandwidth
  parts.paths[2].latency = {110e-9};
  parts.places[3].capacity = {20ull << 30};
  const Machine machine(parts);
  EXPECT_EQ(machine.domains()[0].places, (std::vector<PlaceId>{1, 2, 0}));
  EXPECT_EQ(machine.fastest_first(0), (std::vector<PlaceId>{0, 1, 2}));
  const auto budget = parse_budget(machine, "hbm=20GiB");
  EXPECT_EQ(budget[0].value, 16ull << 30);
  EXPECT_EQ(budget[2].value, 4ull << 30);
  EXPECT_EQ(budget[3].value, 20ull << 30);
}

TEST(Budget, InvalidWord_IsNamed) {
  const Machine machine(example_parts());
  const std::pair<const char*, const char*> cases[] = {
      {"hmb=1GiB",
       "budget: 'hmb' is neither a kind nor a place of machine 'example'; there are the kinds hbm, ddr, cxl and "
       "the "
       "places hbm0, ddr0, cxl0, hbm1, ddr1"},
      {"hbm=1GiB,hbm=2GiB", "budget: 'hbm' is given twice; give it once"},
      {"hbm=1GiB,", "budget: '' is not NAME=SIZE; write for example hbm=16GiB"},
      {"hbm=lots", "'lots' is not a size; write for example 16GiB, 64MiB or 200MB"},
      {"hbm=9GiB", "budget hbm=9GiB: domain 'socket1' has only 8GiB of hbm; give at most that"},
      {"hbm0=17GiB", "budget hbm0=17GiB: place 'hbm0' has only 16GiB; give at most that"},
      {"", "'' is not a size; write for example 16GiB, 64MiB or 200MB"},
  };
  for (const auto& [text, message] : cases) {
    try {
      parse_budget(machine, text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_STREQ(error.what(), message);
    }
  }
}

TEST(MachineLimit, Limit_BoundsPlacesAndSumAwayFromHome) {
  const Machine machine(example_parts());  // hbm0 16, ddr0 64, cxl0 128 (home); hbm1 8, ddr1 64 (home), all GiB
  const auto whole = whole_budget(machine);
  const auto gib = [](std::uint64_t value) { return Bytes{value << 30}; };
  EXPECT_EQ(limit_budget(machine, whole, gib(280)), whole);
  EXPECT_EQ(limit_budget(machine, whole, gib(100)), (Budget{gib(16), gib(64), gib(100), gib(8), gib(64)}))
      << "only the largest has more than that";
  const auto four_and_a_half = Bytes{std::uint64_t{9} << 29};
  EXPECT_EQ(limit_budget(machine, whole, gib(12)),
            (Budget{four_and_a_half, four_and_a_half, gib(12), gib(3), gib(12)}))
      << "12 of hbm0, 12 of ddr0 and 8 of hbm1 in proportion";
}

TEST(MachineLimit, RandomBudgets_LoseLessThanAGranuleEach) {
  const Machine machine(example_parts());
  std::mt19937_64 random(7);
  for (int round = 0; round < 1000; ++round) {
    Budget budget;
    for (const auto& place : machine.places()) budget.push_back(Bytes{random() % (place.capacity.value + 1)});
    const Bytes limit{random() % (std::uint64_t{200} << 30)};
    const auto within = limit_budget(machine, budget, limit);
    std::uint64_t away = 0;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < budget.size(); ++i) {
      ASSERT_LE(within[i], std::min(budget[i], limit));
      if (machine.home(machine.places()[i].domain) == i) {
        ASSERT_EQ(within[i], std::min(budget[i], limit));
      } else {
        away += within[i].value;
        wanted += std::min(budget[i], limit).value;
      }
    }
    ASSERT_LE(away, limit.value);
    ASSERT_GT(away + 3 * 4096, std::min(wanted, limit.value)) << "three places are not a home";
  }
}

}  // namespace
}  // namespace terrace::machine
