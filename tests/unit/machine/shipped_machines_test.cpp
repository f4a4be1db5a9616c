// Tests that the shipped machine files have the figures of their sources and round-trip.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "example.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {
namespace {

namespace fs = std::filesystem;

Machine shipped(const std::string& name) { return read_machine_file(find_machine(name)); }

TEST(ShippedMachines, AllMachines_RoundTrip) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(TERRACE_SOURCE_DIR "/machines")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto machine = read_machine_file(entry.path());
    EXPECT_EQ(machine.name(), entry.path().stem()) << "the name of a shipped machine is that of its file";
    EXPECT_TRUE(machine.parts().fingerprint.empty()) << "shipped machines are not measured";
    const auto again = parse_machine(format_machine_file(machine), "again");
    EXPECT_EQ(blob_of(again), blob_of(machine)) << entry.path();
  }
  EXPECT_GE(count, 19u);
}

// Papers/Unimem, appendix A.3: 344 ns is 4x and 2,000 MB/s is 1/8.
TEST(ShippedMachines, Unimem_HasFiguresOfItsStudy) {
  struct Case {
    const char* name;
    double bandwidth;
    double latency;
  };
  for (const auto& [name, bandwidth, latency] :
       {Case{"unimem-bw2", 8e9, 86e-9}, Case{"unimem-bw4", 4e9, 86e-9}, Case{"unimem-bw8", 2e9, 86e-9},
        Case{"unimem-lat2", 16e9, 172e-9}, Case{"unimem-lat4", 16e9, 344e-9}, Case{"unimem-lat8", 16e9, 688e-9}}) {
    const auto machine = shipped(name);
    ASSERT_EQ(machine.places().size(), 2u);
    const auto fast = machine.find_kind(0, "dram").value();
    const auto slow = machine.find_kind(0, "nvm").value();
    EXPECT_EQ(machine.path(0, fast).read.value, 16e9);
    EXPECT_EQ(machine.path(0, fast).latency.value, 86e-9);
    EXPECT_EQ(machine.path(0, slow).read.value, bandwidth) << name;
    EXPECT_EQ(machine.path(0, slow).latency.value, latency) << name;
    EXPECT_EQ(machine.fastest_first(0), (std::vector<PlaceId>{fast, slow})) << name;
    EXPECT_EQ(machine.home(0), slow) << name;
    EXPECT_EQ(machine.copy_bandwidth(slow, fast).value, bandwidth) << name;
    EXPECT_EQ(parse_budget(machine, "256MB")[fast].value, 256000000u);
    // 1/8 of the bandwidth is the appendix's 2,000 MB/s; 4x the latency its 344 ns.
    EXPECT_DOUBLE_EQ(machine.path(0, fast).read.value / 8, 2000e6);
    EXPECT_DOUBLE_EQ(machine.path(0, fast).latency.value * 4, 344e-9);
  }
}

TEST(ShippedMachines, Knl_HasStreamFiguresOfItsPaper) {
  const auto machine = shipped("knl-7210-flat");
  const auto hbm = machine.find_kind(0, "hbm").value();
  const auto ddr = machine.find_kind(0, "ddr").value();
  EXPECT_EQ(machine.path(0, hbm).read.value, 314e9);
  EXPECT_EQ(machine.path(0, ddr).read.value, 60.8e9);
  EXPECT_EQ(machine.place(hbm).capacity.value, 16ull << 30);
  EXPECT_EQ(machine.fastest_first(0).front(), hbm);
  EXPECT_EQ(machine.home(0), ddr);
  EXPECT_EQ(machine.domains()[0].places.front(), ddr);  // nearest by latency
}

TEST(ShippedMachines, TwoDomains_HaveThreeKindsEach) {
  const auto machine = shipped("hbm-ddr-cxl-2domains");
  ASSERT_EQ(machine.domains().size(), 2u);
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"hbm", "ddr", "cxl"}));
  EXPECT_EQ(machine.parts().paths.size(), 12u);
  for (DomainId d = 0; d < 2; ++d) {
    std::vector<std::string> kinds;
    for (const auto place : machine.fastest_first(d)) {
      EXPECT_EQ(machine.place(place).domain, d);
      kinds.push_back(machine.place(place).kind);
      // Every place is slower for the other domain.
      const auto other = static_cast<InitiatorId>(1 - d);
      EXPECT_LT(machine.path(other, place).read, machine.path(d, place).read);
      EXPECT_GT(machine.path(other, place).latency, machine.path(d, place).latency);
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"hbm", "ddr", "cxl"}));
  }
  EXPECT_EQ(machine.nodes()[0].name, "board");
}

// Unimem's table 1, relative to its DRAM (10 ns; 1,000 and 900 MB/s); ranges by their geometric mean.
TEST(ShippedMachines, MemoryTechnologies_HaveRatiosOfUnimemsTable) {
  struct Case {
    const char* name;
    double read_ns, read_mbs, write_mbs;
  };
  for (const auto& [name, read_ns, read_mbs, write_mbs] :
       {Case{"unimem-sttram", 60, 800, 600},
        Case{"unimem-pcram", std::sqrt(20.0 * 200), 400, std::sqrt(100.0 * 800)},
        Case{"unimem-reram", 100, std::sqrt(20.0 * 100), std::sqrt(8.0)}}) {
    const auto machine = shipped(name);
    const auto dram = machine.path(0, machine.find_kind(0, "dram").value());
    const auto nvm = machine.path(0, machine.find_kind(0, "nvm").value());
    EXPECT_NEAR(nvm.latency / dram.latency, read_ns / 10, 0.005 * read_ns / 10) << name;
    EXPECT_NEAR(nvm.read.value / dram.read.value, read_mbs / 1000, 0.005 * read_mbs / 1000) << name;
    EXPECT_NEAR(nvm.write.value / dram.write.value, write_mbs / 900, 0.005 * write_mbs / 900) << name;
  }
}

TEST(ShippedMachines, TwoSocketStudies_HaveRatiosOfTheirPapers) {
  const auto two_level = shipped("two-level-sandy-bridge");
  EXPECT_EQ(two_level.path(0, two_level.find_kind(0, "near").value()).read.value, 31.76e9);
  EXPECT_EQ(two_level.path(0, two_level.find_kind(0, "far").value()).read.value, 12.23e9);
  const auto edison = shipped("unimem-edison");
  const auto dram = edison.path(0, edison.find_kind(0, "dram").value());
  const auto nvm = edison.path(0, edison.find_kind(0, "nvm").value());
  EXPECT_NEAR(nvm.read.value / dram.read.value, 0.6, 1e-9);
  EXPECT_NEAR(nvm.latency / dram.latency, 1.89, 0.01);
}

TEST(ShippedMachines, XeonMax_HasEightDomains) {
  const auto machine = shipped("xeon-max-9480-snc4");
  ASSERT_EQ(machine.domains().size(), 8u);
  EXPECT_EQ(machine.parts().paths.size(), 8u * 16u);
  double hbm_bandwidth = 0;
  for (DomainId d = 0; d < 8; ++d) {
    const auto hbm = machine.find_kind(d, "hbm").value();
    const auto ddr = machine.find_kind(d, "ddr").value();
    EXPECT_EQ(machine.fastest_first(d), (std::vector<PlaceId>{hbm, ddr}));
    EXPECT_EQ(machine.home(d), ddr);
    hbm_bandwidth += machine.path(d, hbm).read.value;
    double hbm_latency = 0;
    double ddr_latency = 0;
    for (DomainId quarter = 0; quarter < 4; ++quarter) {
      const auto other = static_cast<DomainId>(d / 4 * 4 + quarter);
      hbm_latency += machine.path(d, machine.find_kind(other, "hbm").value()).latency.value / 4;
      ddr_latency += machine.path(d, machine.find_kind(other, "ddr").value()).latency.value / 4;
    }
    // In quadrant mode a socket has the mean over its quarters.
    EXPECT_NEAR(hbm_latency, 130e-9, 0.5e-9);
    EXPECT_NEAR(ddr_latency, 112e-9, 0.5e-9);
  }
  EXPECT_NEAR(hbm_bandwidth, 2 * 0.43 * 1638.4e9, 0.005 * 1.4e12);
}

// "Bit contiguous memory allocation for processing in memory", table 3: 1GB.
TEST(ShippedMachines, Imi_HasGeometryOfItsStudy) {
  const auto machine = shipped("imi-ddr4");
  const auto imi = machine.find_kind(0, "pim").value();
  const auto ddr = machine.find_kind(0, "ddr").value();
  EXPECT_EQ(machine.place(imi).geometry, (ArrayGeometry{1024, 65536, 16, 8, 1}));
  EXPECT_EQ(machine.place(imi).capacity.value, 1ull << 30);
  EXPECT_EQ(machine.home(0), ddr);
  EXPECT_EQ(machine.fastest_first(0), (std::vector<PlaceId>{ddr, imi}));
  EXPECT_EQ(whole_budget(machine)[imi].value, 0u);
}

}  // namespace
}  // namespace terrace::machine
