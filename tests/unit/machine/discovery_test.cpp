// Tests discovery on machines that hwloc describes: nodes become places of the right kind in the right domain,
// stated figures are used, and defaults are reported as such.
#include "machine/discover/discovery.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <unistd.h>

#include <functional>

#include "core/error.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/place_kind.hpp"

namespace terrace::machine {
namespace {

// Returns the saved XML of a synthetic hwloc machine with additions by the test.
std::string saved(const char* synthetic, const std::function<void(hwloc_topology_t)>& add = {}) {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, synthetic);
  EXPECT_EQ(hwloc_topology_load(topology), 0) << synthetic;
  if (add) add(topology);
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0);
  std::string xml(buffer);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

hwloc_obj_t node(hwloc_topology_t topology, unsigned index) {
  return hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, index);
}

void state(hwloc_topology_t topology, hwloc_memattr_id_t attribute, unsigned node_index, std::uint64_t value) {
  hwloc_location from{};
  from.type = HWLOC_LOCATION_TYPE_CPUSET;
  from.location.cpuset = node(topology, node_index)->cpuset;
  EXPECT_EQ(hwloc_memattr_set_value(topology, attribute, node(topology, node_index), &from, 0, value), 0);
}

constexpr const char* k_two_sockets =
    "Package:2 [NUMANode(memory=64GB)] [NUMANode(memory=16GB)] L3:1(size=32MB) L2:4(size=1MB) Core:1 PU:2";

TEST(Discovery, OneNode_IsOneDomainWithOnePlace) {
  const auto found = discover_saved(saved("[NUMANode(memory=8GB)] L2:4(size=512kB) Core:1 PU:1"));
  ASSERT_EQ(found.machine.domains().size(), 1u);
  ASSERT_EQ(found.machine.places().size(), 1u);
  EXPECT_EQ(found.machine.place(0).name, "ddr0");
  EXPECT_EQ(found.machine.place(0).kind, "ddr");
  EXPECT_EQ(found.machine.place(0).numa_node, 0);
  EXPECT_EQ(found.machine.initiators()[0].cores, 4u);
  EXPECT_EQ(found.processors[0], (std::vector<int>{0, 1, 2, 3}));
  EXPECT_NE(found.machine.parts().description.find("not measured (defaults of each kind)"), std::string::npos);
}

TEST(Discovery, Subtypes_DecideKinds) {
  const auto found = discover_saved(saved(k_two_sockets, [](hwloc_topology_t topology) {
    for (unsigned i = 1; i < 4; i += 2) {
      free(node(topology, i)->subtype);
      node(topology, i)->subtype = strdup("HBM");
    }
  }));
  const auto& machine = found.machine;
  ASSERT_EQ(machine.domains().size(), 2u);
  ASSERT_EQ(machine.places().size(), 4u);
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"ddr", "hbm"}));
  for (DomainId d = 0; d < 2; ++d) {
    EXPECT_EQ(machine.domains()[d].places.size(), 2u);
    ASSERT_TRUE(machine.find_kind(d, "hbm"));
    EXPECT_EQ(machine.fastest_first(d).front(), *machine.find_kind(d, "hbm"));
  }
  EXPECT_EQ(machine.parts().paths.size(), 8u);
  // Four cores of two threads each: the first threads of all cores precede the second ones.
  EXPECT_EQ(machine.initiators()[1].cores, 4u);
  EXPECT_EQ(found.processors[1], (std::vector<int>{8, 10, 12, 14, 9, 11, 13, 15}));
  // Caches from the core outwards, the last one shared.
  ASSERT_EQ(machine.initiators()[0].caches.size(), 2u);
  EXPECT_FALSE(machine.initiators()[0].caches[0].shared);
  EXPECT_EQ(machine.initiators()[0].caches[1].size.value, 32000000u);  // hwloc's MB
  EXPECT_TRUE(machine.initiators()[0].caches[1].shared);
  EXPECT_EQ(found.last_level[0].value, 32000000u);
  // The tree: board, two packages, two places in each.
  EXPECT_EQ(machine.nodes().size(), 7u);
  for (const auto& tree_node : machine.nodes()) {
    if (!tree_node.place) continue;
    EXPECT_EQ(machine.nodes()[*tree_node.parent].name.substr(0, 7), "package");
  }
}

TEST(Discovery, HmatFigures_DecideKinds) {
  const auto found =
      discover_saved(saved("[NUMANode(memory=64GB)] [NUMANode(memory=16GB)] [NUMANode(memory=128GB)] Core:8 PU:1",
                           [](hwloc_topology_t topology) {
                             const std::uint64_t bandwidth[] = {100000, 400000, 20000};  // MiB/s
                             const std::uint64_t latency[] = {100, 130, 300};            // ns
                             for (unsigned i = 0; i < 3; ++i) {
                               state(topology, HWLOC_MEMATTR_ID_BANDWIDTH, i, bandwidth[i]);
                               state(topology, HWLOC_MEMATTR_ID_LATENCY, i, latency[i]);
                             }
                           }));
  const auto& machine = found.machine;
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"ddr", "hbm", "cxl"}));
  EXPECT_EQ(machine.path(0, 1).read.value, 400000.0 * 1048576);
  EXPECT_EQ(machine.path(0, 1).write.value, 400000.0 * 1048576);
  EXPECT_EQ(machine.path(0, 2).latency.value, 300e-9);
  EXPECT_NE(machine.parts().description.find("as the firmware states them"), std::string::npos);
  EXPECT_NE(machine.parts().description.find("kind told from figures alone: hbm0, cxl0"), std::string::npos);
}

TEST(Discovery, SeparateReadAndWriteFigures_TakePrecedence) {
  const auto found = discover_saved(saved("[NUMANode(memory=64GB)] Core:8 PU:1", [](hwloc_topology_t topology) {
    state(topology, HWLOC_MEMATTR_ID_BANDWIDTH, 0, 1000);
    state(topology, HWLOC_MEMATTR_ID_READ_BANDWIDTH, 0, 3000);
    state(topology, HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, 0, 2000);
  }));
  EXPECT_EQ(found.machine.path(0, 0).read.value, 3000.0 * 1048576);
  EXPECT_EQ(found.machine.path(0, 0).write.value, 2000.0 * 1048576);
}

TEST(Discovery, OtherSocket_IsFarther) {
  const auto& machine = discover_saved(saved("Package:2 [NUMANode(memory=64GB)] Core:4 PU:1")).machine;
  EXPECT_GT(machine.path(0, 1).latency, machine.path(0, 0).latency);
  EXPECT_LT(machine.path(0, 1).read, machine.path(0, 0).read);
}

TEST(Discovery, InvalidXml_Throws) { EXPECT_THROW(discover_saved("<no topology>"), Error); }

TEST(Discovery, ThisMachine_EqualsSysfs) {
  const auto found = discover_details();
  std::size_t processors = 0;
  for (const auto& set : found.processors) processors += set.size();
  EXPECT_LE(processors, static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_GE(processors, 1u);
  std::uint64_t memory = 0;
  for (const auto& place : found.machine.places()) memory += place.capacity.value;
  const auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  EXPECT_LE(memory, physical + physical / 8);
  // The discovered machine round-trips through a file.
  EXPECT_EQ(format_machine_file(parse_machine(format_machine_file(found.machine), "again")),
            format_machine_file(found.machine));
}

TEST(KindOf, Names_TakePrecedenceOverFigures) {
  EXPECT_EQ(kind_of({"MCDRAM", "", "", "", false, 0.5, 9.0}).kind, "hbm");
  EXPECT_EQ(kind_of({"NVM", "", "", "", false, {}, {}}).kind, "nvm");
  EXPECT_EQ(kind_of({"", "NVM", "", "", false, {}, {}}).kind, "nvm");
  EXPECT_EQ(
      kind_of({"", "SPM", "/sys/devices/platform/ACPI0017:00/root0/cxl_region/region0", "", false, {}, {}}).kind,
      "cxl");
  EXPECT_EQ(kind_of({"GPUMemory", "", "", "", false, {}, {}}).kind, "gpu");
  EXPECT_EQ(kind_of({"", "", "", "", true, 4.0, {}}).kind, "ddr");
  EXPECT_EQ(kind_of({"", "", "", "AMD Instinct MI300A Accelerator", true, {}, {}}).kind, "hbm");
  EXPECT_TRUE(kind_of({"", "", "", "", false, 4.0, {}}).inferred);
}

TEST(Fingerprint, Fingerprint_IgnoresMeasuredFigures) {
  const auto here = discover_saved(saved(k_two_sockets));
  const auto other = discover_saved(saved("Package:2 [NUMANode(memory=64GB)] Core:4 PU:1"));
  const auto print = fingerprint(here);
  EXPECT_EQ(print.size(), 16u);
  EXPECT_EQ(fingerprint(discover_saved(saved(k_two_sockets))), print);
  EXPECT_NE(fingerprint(other), print);

  auto parts = here.machine.parts();
  parts.fingerprint = print;
  parts.paths[0].read = {1e9};
  const Machine measured(parts);
  EXPECT_EQ(fingerprint({measured, here.processors, here.last_level, here.processor_name}), print);
  EXPECT_NO_THROW(check_fingerprint(measured, here));
  EXPECT_NO_THROW(check_fingerprint(here.machine, other)) << "accepts a machine that was not measured";
  try {
    check_fingerprint(measured, other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find(print), std::string::npos);
  }
}

}  // namespace
}  // namespace terrace::machine
