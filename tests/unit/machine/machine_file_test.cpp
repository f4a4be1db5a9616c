// Machine files: the shipped ones hold what their sources say and come back from their own text; each way of
// breaking the schema gives its one line.
#include "machine/machine_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "example.hpp"

namespace terrace::machine {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> blob_of(const Machine& machine) {
  BlobWriter out;
  machine.to_blob(out);
  return {out.bytes().begin(), out.bytes().end()};
}

Machine shipped(const std::string& name) { return read_machine_file(find_machine(name)); }

TEST(ShippedMachines, AllParseAndComeBackFromTheirOwnText) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(TERRACE_SOURCE_DIR "/machines")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto machine = read_machine_file(entry.path());
    EXPECT_EQ(machine.name(), entry.path().stem()) << "a shipped machine bears its file's name";
    EXPECT_TRUE(machine.parts().fingerprint.empty()) << "a shipped machine is described, not measured";
    const auto again = parse_machine(format_machine_file(machine), "again");
    EXPECT_EQ(blob_of(again), blob_of(machine)) << entry.path();
  }
  EXPECT_GE(count, 14u);
}

// Papers/Unimem, appendix A.3: 344 ns is 4x and 2,000 MB/s is 1/8.
TEST(ShippedMachines, UnimemsAreItsStudys) {
  struct Case {
    const char* name;
    double bandwidth;
    double latency;
  };
  for (const auto& [name, bandwidth, latency] :
       {Case{"unimem-bw2", 8e9, 86e-9}, Case{"unimem-bw4", 4e9, 86e-9}, Case{"unimem-lat2", 16e9, 172e-9},
        Case{"unimem-lat4", 16e9, 344e-9}}) {
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

TEST(ShippedMachines, KnlHasTheStreamFiguresOfItsPaper) {
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

TEST(ShippedMachines, TwoDomainsHaveThreeKindsEachAndSeeEachOther) {
  const auto machine = shipped("hbm-ddr-cxl-2domains");
  ASSERT_EQ(machine.domains().size(), 2u);
  EXPECT_EQ(machine.kinds(), (std::vector<std::string>{"hbm", "ddr", "cxl"}));
  EXPECT_EQ(machine.parts().paths.size(), 12u);
  for (DomainId d = 0; d < 2; ++d) {
    std::vector<std::string> kinds;
    for (const auto place : machine.fastest_first(d)) {
      EXPECT_EQ(machine.place(place).domain, d);
      kinds.push_back(machine.place(place).kind);
      // Every place is slower from the other domain.
      const auto other = static_cast<InitiatorId>(1 - d);
      EXPECT_LT(machine.path(other, place).read, machine.path(d, place).read);
      EXPECT_GT(machine.path(other, place).latency, machine.path(d, place).latency);
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"hbm", "ddr", "cxl"}));
  }
  EXPECT_EQ(machine.nodes()[0].name, "board");
}

// Unimem's table 1, relative to its DRAM (10 ns; 1,000 and 900 MB/s), where it gives a range its geometric mean.
TEST(ShippedMachines, MemoryTechnologiesStandToDramAsInUnimemsTable) {
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

TEST(ShippedMachines, TwoSocketStudiesHaveTheirPapersRatios) {
  const auto two_level = shipped("two-level-sandy-bridge");
  EXPECT_EQ(two_level.path(0, two_level.find_kind(0, "near").value()).read.value, 31.76e9);
  EXPECT_EQ(two_level.path(0, two_level.find_kind(0, "far").value()).read.value, 12.23e9);
  const auto edison = shipped("unimem-edison");
  const auto dram = edison.path(0, edison.find_kind(0, "dram").value());
  const auto nvm = edison.path(0, edison.find_kind(0, "nvm").value());
  EXPECT_NEAR(nvm.read.value / dram.read.value, 0.6, 1e-9);
  EXPECT_NEAR(nvm.latency / dram.latency, 1.89, 0.01);
}

TEST(ShippedMachines, XeonMaxHasEightDomainsWithHbmAndDdrEach) {
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
    // What a socket in quadrant mode shows is the mean over its quarters.
    EXPECT_NEAR(hbm_latency, 130e-9, 0.5e-9);
    EXPECT_NEAR(ddr_latency, 112e-9, 0.5e-9);
  }
  EXPECT_NEAR(hbm_bandwidth, 2 * 0.43 * 1638.4e9, 0.005 * 1.4e12);
}

TEST(MachineFile, RoundTripsATreeCopiesAndAMeasurement) {
  auto parts = Machine(example_parts()).parts();
  parts.description = "quotes \", back\\slashes,\nlines, tabs\t and \x01";
  parts.fingerprint = "0123abcd";
  parts.copies.push_back({1, 0, {19.87654321e9}});
  parts.paths[3].latency = {123.456789e-9};
  // board -> package -> places of domain 0; domain 1's hang on the root.
  parts.nodes.push_back({"package", 7, std::nullopt});
  parts.nodes.push_back({"tile", 0, std::nullopt});
  for (std::uint32_t i = 1; i <= 3; ++i) parts.nodes[i].parent = 6;
  const Machine machine(parts);
  Measurement measured{"2026-01-02T03:04:05Z", "a processor", 5, {"one note", "another"}, {}, {}};
  measured.bandwidths.push_back({0, 1, 8, "triad", {101.5e9, 0.25e9}});
  measured.bandwidths.push_back({1, 1, 1, "read", {11.5e9, 0}});
  measured.latencies.push_back({1, 4, "huge", {101e-9, 2e-9}});
  measured.latencies.push_back({1, 4, "small", {151e-9, 3e-9}, 12.5e9});
  const auto text = format_machine_file(machine, &measured);
  const auto again = parse_machine_file(text, "again");
  EXPECT_EQ(format_machine_file(again.machine, &*again.measured), text);
  EXPECT_EQ(again.machine.parts().description, parts.description);
  EXPECT_EQ(again.machine.parts().fingerprint, "0123abcd");
  EXPECT_EQ(again.machine.copy_bandwidth(1, 0).value, 19.87654321e9);
  EXPECT_EQ(again.machine.path(0, 3).latency.value, 123.456789e-9);
  EXPECT_EQ(again.measured->notes.size(), 2u);
  EXPECT_EQ(again.measured->bandwidths[0].bytes_per_second.median, 101.5e9);
  EXPECT_EQ(again.measured->latencies[0].seconds.spread, 2e-9);
  EXPECT_EQ(again.measured->latencies[0].load, 0);
  EXPECT_EQ(again.measured->latencies[1].load, 12.5e9);
  const auto& nodes = again.machine.nodes();
  std::uint32_t hbm0 = 0;
  while (nodes[hbm0].name != "hbm0") ++hbm0;
  EXPECT_EQ(nodes[*nodes[hbm0].parent].name, "package");
  EXPECT_EQ(nodes[*nodes[*nodes[hbm0].parent].parent].name, "tile");
}

TEST(MachineFile, RoundTripsWhatCallsOfLibmTake) {
  auto parts = example_parts();
  for (const auto function : {LibraryFunction::exp, LibraryFunction::lgammaf})
    parts.initiators[1].library[static_cast<std::size_t>(function)] = {static_cast<double>(function) * 1e-9 +
                                                                       4.125e-9};
  const Machine machine(parts);
  const auto text = format_machine_file(machine);
  EXPECT_NE(text.find("[initiator.library]\nexp = \"4.125ns\"\n"), std::string::npos) << text;
  const auto again = parse_machine(text, "again");
  EXPECT_EQ(blob_of(again), blob_of(machine));
  const auto blob = blob_of(machine);
  BlobReader in(blob);
  const auto times = library_times(Machine::from_blob(in).initiators()[1]);
  EXPECT_EQ(times.front().value, 4.125e-9);
  EXPECT_EQ(times.back().value, static_cast<double>(k_library_functions - 1) * 1e-9 + 4.125e-9);
  EXPECT_EQ(times[1].value, k_library[1].cycles / 2.4e9);  // not stated
}

TEST(MachineFile, RoundTripsTlbs) {
  auto parts = example_parts();
  parts.initiators[1].tlb = {1536, 12, {16384}, {2.75e-9}};
  const Machine machine(parts);
  const auto text = format_machine_file(machine);
  EXPECT_NE(text.find("\ntlb = { entries = 1536, ways = 12, page = \"16KiB\", walk = \"2.75ns\" }\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine(text, "again");
  EXPECT_EQ(blob_of(again), blob_of(machine));
  EXPECT_EQ(again.initiators()[0].tlb.entries, 0u);
  const auto blob = blob_of(machine);
  BlobReader in(blob);
  const auto tlb = Machine::from_blob(in).initiators()[1].tlb;
  EXPECT_EQ(tlb.entries, 1536u);
  EXPECT_EQ(tlb.ways, 12u);
  EXPECT_EQ(tlb.page.value, 16384u);
  EXPECT_EQ(tlb.walk.value, 2.75e-9);
}

TEST(MachineFile, TheManualsExampleIsGood) {
  std::ifstream page(TERRACE_SOURCE_DIR "/docs/machine-file.md");
  std::stringstream all;
  all << page.rdbuf();
  const auto text = all.str();
  const auto begin = text.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  const auto example = text.substr(begin + 8, text.find("```", begin + 8) - begin - 8);
  EXPECT_EQ(parse_machine(example, "manual").kinds(), (std::vector<std::string>{"ddr", "cxl"}));
}

TEST(MachineFile, IsWrittenWhole) {
  const auto path = fs::temp_directory_path() / ("terrace-machine-" + std::to_string(::getpid()) + ".toml");
  const Machine machine(example_parts());
  write_machine_file(path, machine);
  EXPECT_EQ(blob_of(read_machine_file(path)), blob_of(machine));
  EXPECT_FALSE(fs::exists(path.string() + ".new"));
  fs::remove(path);
  EXPECT_THROW(write_machine_file("/nonexistent/folder/x.toml", machine), Error);
}

// A whole file, line by line; each case replaces one line's text (or appends), and expects the exact complaint.
constexpr const char* k_good = R"(schema = 1
name = "small"
line = "64B"
[[domain]]
name = "node"
initiator = "cores"
[[group]]
name = "board"
[[group]]
name = "package"
parent = "board"
[[initiator]]
name = "cores"
cores = 4
access_time = "0.25ns"
mlp = 10
prefetch_mlp = 20.5
[[initiator.cache]]
name = "l2"
size = "256KiB"
ways = 8
latency = "5ns"
[[place]]
name = "dram"
kind = "ddr"
capacity = "16GiB"
domain = "node"
parent = "package"
[[path]]
initiator = "cores"
place = "dram"
read = "16GB/s"
write = "16GB/s"
latency = "86ns"
)";

TEST(MachineFile, TheSmallExampleIsGood) {
  const auto machine = parse_machine(k_good, "x.toml");
  EXPECT_EQ(machine.initiators()[0].mlp, 10);
  EXPECT_EQ(machine.initiators()[0].miss_registers, 10u);
  EXPECT_EQ(machine.place(0).granule.value, 4096u);
}

struct Bad {
  const char* replace;  // "" appends instead
  const char* with;
  const char* complaint;
};

class BrokenFile : public ::testing::TestWithParam<Bad> {};

TEST_P(BrokenFile, GetsItsOneLine) {
  const auto& bad = GetParam();
  std::string text = k_good;
  if (*bad.replace == '\0') {
    text += bad.with;
  } else {
    const auto at = text.find(bad.replace);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string(bad.replace).size(), bad.with);
  }
  try {
    parse_machine(text, "x.toml");
    FAIL() << "accepted; expected " << bad.complaint;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(std::string(error.what()), bad.complaint);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schema, BrokenFile,
    ::testing::Values(
        Bad{"read = \"16GB/s\"", "read = \"16GHz\"",
            "x.toml:32: path.read: '16GHz' is not a bandwidth; write for example 16GB/s, 2000MB/s or 15GiB/s"},
        Bad{"read = ", "raed = ", "x.toml:32: path.raed: unknown key; did you mean 'read'?"},
        Bad{"mlp = 10", "hovercraft = 10",
            "x.toml:16: initiator.hovercraft: unknown key; the keys here are name, cores, frequency, access_time, "
            "mlp, "
            "prefetch_mlp, miss_registers, window, domain, library, cache, tlb"},
        Bad{"mlp = 10", "mlp = 10\nlibrary = { exp = \"4ns\", sinncos = \"9ns\" }",
            "x.toml:17: initiator.library.sinncos: unknown key; did you mean 'sincos'?"},
        Bad{"mlp = 10", "mlp = 10\nlibrary = { exp = \"0ns\" }",
            "x.toml:17: initiator.library.exp: '0ns' is not above 0"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, walk = \"9ns\", level = 2 }",
            "x.toml:17: initiator.tlb.level: unknown key; the keys here are entries, ways, page, walk"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4 }",
            "x.toml:17: initiator.tlb.walk: this key is missing; add it"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 6, walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.entries: 64 is no multiple of the 6 ways"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 256, walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.ways: 256 is out of range; it must lie between 1 and 255"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, page = \"5kB\", walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.page: 5000B is not a power of two; write for example 4KiB"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, page = \"2KiB\", walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.page: 2KiB is less than 4KiB, the smallest that there can be"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, walk = \"0ns\" }",
            "x.toml:17: initiator.tlb.walk: '0ns' is not above 0"},
        Bad{"[[group]]", "[[grup]]", "x.toml:7: grup: unknown key; did you mean 'group'?"},
        Bad{"capacity = \"16GiB\"", "capacity = \"16GB/s\"",
            "x.toml:26: place.capacity: '16GB/s' is not a size; write for example 16GiB, 64MiB or 200MB"},
        Bad{"latency = \"86ns\"", "latency = \"86\"",
            "x.toml:34: path.latency: '86' is not a time; write for example 86ns, 1.5us or 2s"},
        Bad{"latency = \"86ns\"", "latency = 86",
            "x.toml:34: path.latency: a whole number stands where a text belongs; write for example \"86ns\""},
        Bad{"write = \"16GB/s\"", "write = \"0GB/s\"", "x.toml:33: path.write: '0GB/s' is not above 0"},
        Bad{"capacity = \"16GiB\"", "capacity = \"0\"", "x.toml:26: place.capacity: '0' is not above 0"},
        Bad{"latency = \"86ns\"\n", "", "x.toml:29: path.latency: this key is missing; add it"},
        Bad{"domain = \"node\"", "domain = \"nod\"",
            "x.toml:27: place.domain: there is no domain 'nod'; did you mean 'node'?"},
        Bad{"place = \"dram\"", "place = \"cxl\"",
            "x.toml:31: path.place: there is no place 'cxl'; add it, or name one that there is"},
        Bad{"initiator = \"cores\"\nplace", "initiator = \"core\"\nplace",
            "x.toml:30: path.initiator: there is no initiator 'core'; did you mean 'cores'?"},
        Bad{"initiator = \"cores\"\n[[group]]", "initiator = \"gpu\"\n[[group]]",
            "x.toml:6: domain.initiator: there is no initiator 'gpu'; add it, or name one that there is"},
        Bad{"", "[[place]]\nname = \"dram\"\nkind = \"hbm\"\ncapacity = \"1GiB\"\ndomain = \"node\"\n",
            "x.toml:36: place.name: a second place is called 'dram'; names must be unique"},
        Bad{"", "[[place]]\nname = \"hbm\"\nkind = \"hbm\"\ncapacity = \"1GiB\"\ndomain = \"node\"\n",
            "x.toml:39: place.domain: no path leads from 'cores' to 'hbm'; add a [[path]] with initiator = "
            "\"cores\", "
            "place = \"hbm\", read, write and latency"},
        Bad{"",
            "[[path]]\ninitiator = \"cores\"\nplace = \"dram\"\nread = \"1GB/s\"\nwrite = \"1GB/s\"\nlatency = "
            "\"1ns\"\n",
            "x.toml:37: path.place: a second path leads from 'cores' to 'dram'; keep one"},
        Bad{"name = \"board\"", "name = \"board\"\nparent = \"package\"",
            "x.toml:9: group.parent: the tree has a cycle through 'board'; let its ancestors end at the root, "
            "'small'"},
        Bad{"parent = \"board\"", "parent = \"package\"",
            "x.toml:11: group.parent: the tree has a cycle through 'package'; let its ancestors end at the root, "
            "'small'"},
        Bad{"parent = \"board\"", "parent = \"bord\"",
            "x.toml:11: group.parent: there is no node of the tree 'bord'; did you mean 'board'?"},
        Bad{"name = \"package\"", "name = \"board\"",
            "x.toml:10: group.name: a second node of the tree is called 'board'; names must be unique"},
        Bad{"schema = 1", "schema = 2", "x.toml:1: schema: this file has version 2; this Terrace reads version 1"},
        Bad{"schema = 1\n", "", "x.toml:1: schema: this key is missing; add it"},
        Bad{"line = \"64B\"", "line = \"60B\"",
            "x.toml:3: line: 60B is not a power of two; write for example 64B"},
        Bad{"mlp = 10", "mlp = 0.5", "x.toml:16: initiator.mlp: it must be a number of at least 1"},
        Bad{"mlp = 10", "mlp = nan", "x.toml:16: initiator.mlp: it must be a number of at least 1"},
        Bad{"mlp = 10", "mlp = \"10\"",
            "x.toml:16: initiator.mlp: a text stands where a number belongs; write for example 10.0"},
        Bad{"cores = 4", "cores = 0",
            "x.toml:14: initiator.cores: 0 is out of range; it must lie between 1 and 16777216"},
        Bad{"cores = 4", "cores = 4.5",
            "x.toml:14: initiator.cores: a number stands where a whole number belongs; write for example 8"},
        Bad{"size = \"256KiB\"", "size = \"256B\"",
            "x.toml:20: initiator.cache.size: 256B is less than one line of 64B for each of 8 ways"},
        Bad{"latency = \"5ns\"", "latency = \"5ns\"\nshared = 1",
            "x.toml:23: initiator.cache.shared: a whole number stands where true or false belongs"},
        Bad{"latency = \"5ns\"",
            "latency = \"5ns\"\nshared = true\n[[initiator.cache]]\nname = \"l1\"\nsize = \"32KiB\"\nways = 8\n"
            "latency = \"1ns\"",
            "x.toml:24: initiator.cache.shared: a private cache lies outside the shared cache 'l2'; list caches "
            "from "
            "the core outwards"},
        Bad{"name = \"dram\"", "name = \"d=ram\"",
            "x.toml:24: place.name: 'd=ram' is not a name; use up to 200 letters, digits and _ - . + :"},
        Bad{"[[path]]", "[path]", "x.toml:29: path: a table stands where tables belong; begin each with [[path]]"},
        Bad{"", "[[domain]]\nname = \"other\"\ninitiator = \"cores\"\n",
            "x.toml:37: domain.initiator: 'cores' already serves domain 'node'; give each its own"},
        Bad{"", "[[copy]]\nfrom = \"dram\"\nto = \"dram\"\nbandwidth = \"fast\"\n",
            "x.toml:38: copy.bandwidth: 'fast' is not a bandwidth; write for example 16GB/s, 2000MB/s or 15GiB/s"},
        Bad{"", "[measured]\nfingerprint = \"a\"\ndate = 2026-01-01\nprocessor = \"p\"\nrepetitions = 5\n",
            "x.toml:37: measured.date: a date or time stands where a text belongs; write for example \"a "
            "sentence\""},
        Bad{"mlp = 10", "mlp = t\n",
            "x.toml:16: this is not TOML: Error while parsing boolean: expected 'true', saw 't?'"},
        Bad{"mlp = 10", "mlp = 10\nmlp = 11",
            "x.toml:17: this is not TOML: Error while parsing key-value pair: cannot redefine existing integer "
            "'mlp'"}));

TEST(FindMachine, KnowsPathsNamesAndFolders) {
  EXPECT_EQ(find_machine("unimem-bw2"), fs::path(TERRACE_SOURCE_DIR "/machines/unimem-bw2.toml"));
  EXPECT_EQ(find_machine(TERRACE_SOURCE_DIR "/machines/unimem-bw2.toml"),
            fs::path(TERRACE_SOURCE_DIR "/machines/unimem-bw2.toml"));
  try {
    find_machine("unimem-bw3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_TRUE(
        std::string(error.what()).starts_with("there is no machine 'unimem-bw3'; did you mean 'unimem-bw2'?"))
        << error.what();
  }
  EXPECT_THROW(find_machine("./unimem-bw2.toml"), Error);

  const auto folder = fs::temp_directory_path() / ("terrace-machines-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  write_machine_file(folder / "mine.toml", Machine(example_parts()));
  write_machine_file(folder / "unimem-bw2.toml", Machine(example_parts()));
  ::setenv("TERRACE_MACHINES", ("/nonexistent::" + folder.string()).c_str(), 1);
  EXPECT_EQ(find_machine("mine"), folder / "mine.toml");
  EXPECT_EQ(find_machine("unimem-bw2"), folder / "unimem-bw2.toml") << "the variable's folders come first";
  ::unsetenv("TERRACE_MACHINES");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace terrace::machine
