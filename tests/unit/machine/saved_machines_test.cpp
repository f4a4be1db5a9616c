// Tests discovery on machines saved by hwloc (topologies/make.py names their sources): domains, kinds, and for
// every initiator the orderings that follow from the published topology, with their basis.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "example.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

Discovered saved(const std::string& name) {
  std::ifstream file(TERRACE_SOURCE_DIR "/tests/unit/machine/topologies/" + name + ".xml");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << name;
  return discover_saved(text.str());
}

// Places by NUMA node number, as in numactl and the published tables; ties as sets.
using Nodes = std::vector<std::set<int>>;

Nodes nodes_of(const Machine& machine, InitiatorId initiator, std::string_view intent) {
  Nodes ranks;
  for (const auto& rank : ordering(machine, initiator, intent)) {
    auto& nodes = ranks.emplace_back();
    for (const auto place : rank) nodes.insert(machine.place(place).numa_node);
  }
  return ranks;
}

int node_of(const Machine& machine, const RankedPlace& one) { return machine.place(one.place).numa_node; }

// Returns the source of a node's rank for an intent.
std::optional<Source> source_of_rank(const Machine& machine, InitiatorId initiator, std::string_view intent,
                                     int node) {
  for (const auto& one : rank_places(machine, initiator, intent))
    if (node_of(machine, one) == node) return one.source;
  return std::nullopt;
}

std::map<int, std::string> kinds(const Machine& machine) {
  std::map<int, std::string> kinds;
  for (const auto& place : machine.places()) kinds[place.numa_node] = place.kind;
  return kinds;
}

// Returns the numbers from `first` on, without those in `out`.
std::set<int> nodes(int first, int count, const std::set<int>& out = {}) {
  std::set<int> all;
  for (int n = first; n < first + count; ++n)
    if (!out.contains(n)) all.insert(n);
  return all;
}

void expect_whole(const Machine& machine, std::size_t domains, std::size_t places) {
  EXPECT_EQ(machine.domains().size(), domains);
  ASSERT_EQ(machine.places().size(), places);
  EXPECT_EQ(machine.parts().paths.size(), domains * places);
  // The discovered machine round-trips with its sources and distances.
  EXPECT_EQ(blob_of(parse_machine(format_machine_file(machine), "again")), blob_of(machine));
}

TEST(SavedMachines, KnlFlat_IsDiscovered) {
  const auto found = saved("knl-7210-flat");
  const auto& machine = found.machine;
  expect_whole(machine, 1, 2);
  EXPECT_EQ(machine.initiators()[0].cores, 64u);
  EXPECT_EQ(kinds(machine), (std::map<int, std::string>{{0, "ddr"}, {1, "hbm"}}));
  EXPECT_EQ(nodes_of(machine, 0, "bandwidth"), (Nodes{{1}, {0}}));
  EXPECT_EQ(nodes_of(machine, 0, "latency"), (Nodes{{0}, {1}}));
  EXPECT_EQ(nodes_of(machine, 0, "capacity"), (Nodes{{0}, {1}}));
  EXPECT_EQ(nodes_of(machine, 0, "normal"), (Nodes{{0}, {1}}));
  // Its firmware states nothing, so the defaults of the kind apply, and the source says so.
  EXPECT_EQ(source_of_rank(machine, 0, "bandwidth", 1), Source::kind);
  EXPECT_EQ(source_of_rank(machine, 0, "latency", 0), Source::kind);
  EXPECT_NE(machine.parts().description.find("not measured (defaults of each kind)"), std::string::npos);
}

TEST(SavedMachines, KnlSnc4_IsDiscovered) {
  const auto found = saved("knl-7210-snc4");
  const auto& machine = found.machine;
  expect_whole(machine, 4, 8);
  for (const auto& [node, kind] : kinds(machine)) EXPECT_EQ(kind, node < 4 ? "ddr" : "hbm") << node;
  for (InitiatorId i = 0; i < 4; ++i) {
    const int own = i;
    const auto other_ddr = nodes(0, 4, {own});
    const auto other_hbm = nodes(4, 4, {4 + own});
    EXPECT_EQ(machine.initiators()[i].cores, 16u);
    EXPECT_EQ(machine.domains()[i].places.size(), 2u);
    EXPECT_EQ(nodes_of(machine, i, "bandwidth"), (Nodes{{4 + own}, other_hbm, {own}, other_ddr}));
    EXPECT_EQ(nodes_of(machine, i, "latency"), (Nodes{{own}, other_ddr, {4 + own}, other_hbm}));
    EXPECT_EQ(nodes_of(machine, i, "capacity"), (Nodes{nodes(0, 4), nodes(4, 4)}));
    // As in Linux, where the distances are 10, 21, 31 and 41; hwloc has none.
    EXPECT_EQ(nodes_of(machine, i, "normal"), (Nodes{{own}, other_ddr, {4 + own}, other_hbm}));
    EXPECT_EQ(machine.path(i, 0).distance, 0);
    for (int node = 0; node < 8; ++node) EXPECT_EQ(source_of_rank(machine, i, "bandwidth", node), Source::kind);
    // Within a tie the local place comes first.
    EXPECT_EQ(node_of(machine, rank_places(machine, i, "capacity").front()), own);
  }
  EXPECT_NE(machine.parts().description.find("not measured (defaults of each kind)"), std::string::npos);
}

TEST(SavedMachines, XeonMaxSnc4_IsDiscovered) {
  const auto found = saved("xeon-max-9480-snc4");
  const auto& machine = found.machine;
  expect_whole(machine, 8, 16);
  for (const auto& [node, kind] : kinds(machine)) EXPECT_EQ(kind, node < 8 ? "ddr" : "hbm") << node;
  for (InitiatorId i = 0; i < 8; ++i) {
    const int own = i;
    const int near = own / 4 * 4;  // the first quarter of the same socket
    const int far = 4 - near;
    EXPECT_EQ(machine.initiators()[i].cores, 14u);
    EXPECT_EQ(nodes_of(machine, i, "bandwidth"), (Nodes{{8 + own},
                                                        nodes(8 + near, 4, {8 + own}),
                                                        nodes(8 + far, 4),
                                                        {own},
                                                        nodes(near, 4, {own}),
                                                        nodes(far, 4)}));
    // 103 ns; 120 and 103 x 12/10 are a tie; 120 x 14/13; 120 x 23/13 and 103 x 21/10 are a tie.
    EXPECT_EQ(nodes_of(machine, i, "latency").front(), (std::set<int>{own}));
    auto second = nodes(near, 4, {own});
    second.insert(8 + own);
    auto last = nodes(far, 4);
    last.merge(nodes(8 + far, 4));
    EXPECT_EQ(nodes_of(machine, i, "latency"), (Nodes{{own}, second, nodes(8 + near, 4, {8 + own}), last}));
    EXPECT_EQ(nodes_of(machine, i, "capacity"), (Nodes{nodes(0, 8), nodes(8, 8)}));
    EXPECT_EQ(nodes_of(machine, i, "normal"), (Nodes{{own},
                                                     nodes(near, 4, {own}),
                                                     {8 + own},
                                                     nodes(8 + near, 4, {8 + own}),
                                                     nodes(far, 4),
                                                     nodes(8 + far, 4)}));
    // Linux exposes the firmware's figures of the nearest cores only.
    EXPECT_EQ(source_of_rank(machine, i, "bandwidth", 8 + own), Source::firmware);
    EXPECT_EQ(source_of_rank(machine, i, "bandwidth", 8 + (own + 1) % 8), Source::distance);
  }
  EXPECT_NE(machine.parts().description.find("kind told from figures alone: hbm0"), std::string::npos);
}

TEST(SavedMachines, DdrAndCxl_IsDiscovered) {
  const auto found = saved("ddr-cxl-2sockets");
  const auto& machine = found.machine;
  expect_whole(machine, 2, 4);
  EXPECT_EQ(kinds(machine), (std::map<int, std::string>{{0, "ddr"}, {1, "ddr"}, {2, "cxl"}, {3, "cxl"}}));
  for (InitiatorId i = 0; i < 2; ++i) {
    const int own = i;
    const int other = 1 - own;
    EXPECT_EQ(machine.domains()[i].places.size(), 2u) << "the expander belongs to its socket";
    EXPECT_EQ(nodes_of(machine, i, "bandwidth"), (Nodes{{own}, {other}, {2 + own}, {2 + other}}));
    EXPECT_EQ(nodes_of(machine, i, "latency"), (Nodes{{own}, {other}, {2 + own}, {2 + other}}));
    EXPECT_EQ(nodes_of(machine, i, "capacity"), (Nodes{{3}, {0, 1, 2}}));
    // The kernel prefers the near expander to the other socket's DDR, by distance: 14 against 21.
    EXPECT_EQ(nodes_of(machine, i, "normal"), (Nodes{{own}, {2 + own}, {other}, {2 + other}}));
    EXPECT_EQ(source_of_rank(machine, i, "latency", 2 + own), Source::firmware);
    EXPECT_EQ(source_of_rank(machine, i, "latency", 2 + other), Source::distance);
  }
  EXPECT_EQ(machine.parts().description.find("figures alone"), std::string::npos)
      << "CXL memory is identified by DAX";
}

TEST(SavedMachines, GraceHopper_IsDiscovered) {
  const auto found = saved("gh200");
  const auto& machine = found.machine;
  expect_whole(machine, 1, 2);  // seven nodes are empty
  EXPECT_EQ(machine.initiators()[0].cores, 72u);
  EXPECT_EQ(kinds(machine), (std::map<int, std::string>{{0, "ddr"}, {1, "gpu"}}));
  for (const char* intent : {"bandwidth", "latency", "capacity", "normal"})
    EXPECT_EQ(nodes_of(machine, 0, intent), (Nodes{{0}, {1}})) << intent << " of Grace's cores";
  EXPECT_EQ(source_of_rank(machine, 0, "bandwidth", 1), Source::kind);
  EXPECT_EQ(machine.path(0, 1).distance, 80);
}

TEST(SavedMachines, FourMi300a_HaveOnlyHbm) {
  const auto found = saved("mi300a-4");
  const auto& machine = found.machine;
  expect_whole(machine, 4, 4);
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"hbm"}));
  for (InitiatorId i = 0; i < 4; ++i) {
    const int own = i;
    EXPECT_EQ(machine.initiators()[i].cores, 24u);
    for (const char* intent : {"bandwidth", "latency", "normal"})
      EXPECT_EQ(nodes_of(machine, i, intent), (Nodes{{own}, nodes(0, 4, {own})})) << intent;
    EXPECT_EQ(nodes_of(machine, i, "capacity"), (Nodes{nodes(0, 4)}));
    EXPECT_EQ(node_of(machine, rank_places(machine, i, "capacity").front()), own);
  }
}

}  // namespace
}  // namespace terrace::machine
