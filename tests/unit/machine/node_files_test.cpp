// Tests machines from the kernel's NUMA node files: written in a temporary folder, and this machine's own against
// hwloc.
#include "machine/nodes/node_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "machine/discover/discovery.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

// Figures of access0.
struct Firmware {
  std::vector<int> nearest;
  int read_mib = 0, write_mib = 0, latency_ns = 0;
};

class NodeFilesTest : public ::testing::Test {
 protected:
  NodeFilesTest() { ::mkdtemp(folder_.data()); }
  ~NodeFilesTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    const auto path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void node(int number, long kib, const std::string& processors, const std::string& distances,
            const Firmware& firmware = {}) const {
    const auto name = "node" + std::to_string(number) + "/";
    write(name + "meminfo", "Node " + std::to_string(number) + " MemTotal:       " + std::to_string(kib) +
                                " kB\nNode " + std::to_string(number) + " MemFree:        1 kB");
    write(name + "cpulist", processors);
    write(name + "distance", distances);
    const auto near = name + "access0/initiators/";
    for (const int nearest : firmware.nearest) write(near + "node" + std::to_string(nearest) + "/uevent", "");
    if (firmware.nearest.empty()) return;
    write(near + "read_bandwidth", std::to_string(firmware.read_mib));
    write(near + "write_bandwidth", std::to_string(firmware.write_mib));
    write(near + "read_latency", std::to_string(firmware.latency_ns));
  }
  [[nodiscard]] Machine machine() const { return read_node_machine(folder_).value(); }
  static std::vector<std::string> order(const Machine& machine, InitiatorId initiator, const char* intent) {
    std::vector<std::string> names;
    for (const auto& one : rank_places(machine, initiator, intent)) names.push_back(machine.place(one.place).name);
    return names;
  }

  std::string folder_ = "/tmp/node-files-XXXXXX";
};

using Names = std::vector<std::string>;

// Two packages of ordinary memory, each with fast memory, and slow memory behind the first.
TEST_F(NodeFilesTest, FirmwareFigures_GivePlacesPathsAndOrders) {
  write("online", "0-4");
  node(0, 1 << 20, "0-3", "10 21 13 23 17", {{0}, 4096, 4000, 100});
  node(1, 1 << 20, "4-7", "21 10 23 13 28", {{1}, 4096, 4096, 110});
  node(2, 1 << 18, "", "13 23 10 23 28", {{0}, 16384, 16000, 130});
  node(3, 1 << 18, "", "23 13 23 10 28", {{1}, 16384, 16384, 130});
  node(4, 1 << 22, "", "17 28 28 28 10", {{0}, 1024, 800, 350});
  const auto made = machine();
  ASSERT_EQ(made.places().size(), 5U);
  ASSERT_EQ(made.initiators().size(), 2U);
  EXPECT_EQ(made.initiators()[1].cores, 4U);
  EXPECT_EQ(made.place(2).capacity.value, std::uint64_t{1} << 28);
  EXPECT_EQ(made.place(2).kind, "hbm");
  EXPECT_EQ(made.place(4).kind, "cxl");
  EXPECT_EQ(made.place(3).domain, 1);
  EXPECT_EQ(made.place(4).domain, 0);
  constexpr double k_mib = 1 << 20;
  EXPECT_EQ(made.path(0, 2).read.value, 16384 * k_mib);
  EXPECT_EQ(made.path(0, 2).write.value, 16000 * k_mib);
  EXPECT_DOUBLE_EQ(made.path(0, 2).latency.value, 130e-9);
  EXPECT_EQ(made.path(0, 2).bandwidth_source, Source::firmware);
  // From the other package: scaled by distance.
  EXPECT_DOUBLE_EQ(made.path(1, 2).read.value, 16384 * k_mib * 13 / 23);
  EXPECT_DOUBLE_EQ(made.path(1, 2).latency.value, 130e-9 * 23 / 13);
  EXPECT_EQ(made.path(1, 2).bandwidth_source, Source::distance);
  EXPECT_EQ(made.path(1, 4).distance, 28);
  EXPECT_EQ(order(made, 0, "bandwidth").front(), "node2");
  EXPECT_EQ(order(made, 1, "bandwidth").front(), "node3");
  EXPECT_EQ(order(made, 1, "normal").front(), "node1");
}

// Without figures all places are equal.
TEST_F(NodeFilesTest, NoFigures_PlacesTie) {
  write("online", "0-1");
  node(0, 1 << 20, "0-1", "10 31");
  node(1, 1 << 18, "", "31 10");
  const auto made = machine();
  EXPECT_EQ(ordering(made, 0, "bandwidth").size(), 1U);
  EXPECT_EQ(order(made, 0, "normal"), (Names{"node0", "node1"}));
  EXPECT_EQ(made.path(0, 1).bandwidth_source, Source::kind);
}

TEST_F(NodeFilesTest, NodesWithoutMemoryOrProcessors_AreHandled) {
  write("online", "0,2-3");
  node(0, 0, "0-1", "10 20 40");
  node(2, 1 << 20, "", "20 10 40");
  node(3, 1 << 20, "", "40 40 10");
  const auto made = machine();
  EXPECT_EQ(made.places().size(), 2U);
  EXPECT_EQ(made.initiators().size(), 1U);
  EXPECT_EQ(order(made, 0, "normal"), (Names{"node2", "node3"}));
}

TEST_F(NodeFilesTest, InvalidFiles_GiveNothing) {
  EXPECT_FALSE(read_node_machine(folder_ + "/nothing"));
  EXPECT_FALSE(read_node_machine(folder_));
  write("online", "0");
  node(0, 0, "0-1", "10");
  EXPECT_FALSE(read_node_machine(folder_));
  node(0, 1 << 20, "", "10");
  EXPECT_FALSE(read_node_machine(folder_));
  node(0, 1 << 20, "0", "");
  EXPECT_TRUE(read_node_machine(folder_));
}

// Arbitrary files give a machine or nothing, without a crash.
TEST_F(NodeFilesTest, RandomText_DoesNotThrow) {
  std::mt19937 random(5);
  const std::string letters = "0123456789,- \n\tkBMemTotal:noe!";
  const auto text = [&] {
    std::string made;
    for (auto i = random() % 40; i > 0; --i) made += letters[random() % letters.size()];
    return made;
  };
  for (int i = 0; i < 200; ++i) {
    write("online", random() % 2 == 0 ? "0-1" : text().substr(0, 3));
    for (const char* name : {"node0/", "node1/"})
      for (const char* file : {"meminfo", "cpulist", "distance", "access0/initiators/read_bandwidth"})
        if (random() % 3 == 0) write(std::string(name) + file, text());
    (void)read_node_machine(folder_);
  }
}

TEST(NodeFilesHere, ThisMachine_EqualsHwloc) {
  if (::access("/sys/devices/system/node/node0/meminfo", R_OK) != 0) GTEST_SKIP() << "the node files are hidden";
  const auto by_files = read_node_machine().value();
  const auto by_hwloc = discover();
  ASSERT_EQ(by_files.places().size(), by_hwloc.places().size());
  std::map<int, const Place*> places;
  for (const auto& place : by_hwloc.places()) places[place.numa_node] = &place;
  for (const auto& place : by_files.places()) {
    ASSERT_TRUE(places.contains(place.numa_node));
    if (by_files.places().size() > 1) {
      EXPECT_EQ(place.capacity.value, places[place.numa_node]->capacity.value);
    }
    EXPECT_EQ(place.kind, places[place.numa_node]->kind);
  }
  EXPECT_EQ(by_files.initiators().size(), by_hwloc.initiators().size());
}

TEST(NodeList, NumactlSyntax_IsParsed) {
  const std::vector<int> all{0, 1, 2, 3, 5};
  using Nodes = std::vector<int>;
  const std::map<std::string, Nodes> lists{
      {"0", {0}},   {"3,1", {1, 3}},      {"1-3,5", {1, 2, 3, 5}}, {"0-1,1-2", {0, 1, 2}},
      {"all", all}, {"!0", {1, 2, 3, 5}}, {"!1-3", {0, 5}},        {"2-2", {2}},
      {"00", {0}}};
  for (const auto& [text, nodes] : lists) EXPECT_EQ(parse_node_list(text, all), nodes) << text;
  for (const char* text : {"",
                           "!",
                           "4",
                           "0-4",
                           "-1",
                           "1-",
                           "3-1",
                           "0,",
                           ",0",
                           "0,,1",
                           "0 ",
                           " 0",
                           "a",
                           "0x1",
                           "!all",
                           "all,1",
                           "99999999999999999999",
                           "0-99999999999999999999",
                           "!!0",
                           "+0"})
    EXPECT_EQ(parse_node_list(text, all), std::nullopt) << text;
}

// Sets in any order, with or without ranges, are parsed.
TEST(NodeList, RandomSets_RoundTrip) {
  std::mt19937 random(17);
  std::vector<int> all(64);
  for (int i = 0; i < 64; ++i) all[static_cast<std::size_t>(i)] = i;
  for (int round = 0; round < 2000; ++round) {
    std::set<int> set;
    std::string text;
    for (auto parts = 1 + random() % 6; parts > 0; --parts) {
      const int first = static_cast<int>(random() % 64);
      const int last = std::min(63, first + static_cast<int>(random() % 5));
      for (int i = first; i <= last; ++i) set.insert(i);
      text += (text.empty() ? "" : ",") + std::to_string(first);
      if (last > first || random() % 4 == 0) text += "-" + std::to_string(last);
    }
    EXPECT_EQ(parse_node_list(text, all), std::vector<int>(set.begin(), set.end())) << text;
    std::vector<int> others;
    std::ranges::set_difference(all, set, std::back_inserter(others));
    EXPECT_EQ(parse_node_list("!" + text, all), others) << text;
    text[random() % text.size()] = static_cast<char>(32 + random() % 95);
    if (const auto nodes = parse_node_list(text, all)) {
      EXPECT_TRUE(std::ranges::is_sorted(*nodes));
      EXPECT_TRUE(std::ranges::all_of(*nodes, [](int node) { return node >= 0 && node < 64; }));
    }
  }
}

}  // namespace
}  // namespace terrace::machine
