// Tests machine files: round trips, and one error line for each violation of the schema.
#include "machine/file/machine_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.hpp"
#include "example.hpp"

namespace terrace::machine {
namespace {

namespace fs = std::filesystem;

TEST(MachineFile, TreeCopiesAndMeasurement_RoundTrip) {
  auto parts = Machine(example_parts()).parts();
  parts.description = "quotes \", back\\slashes,\nlines, tabs\t and \x01";
  parts.fingerprint = "0123abcd";
  parts.copies.push_back({1, 0, {19.87654321e9}});
  parts.paths[3].latency = {123.456789e-9};
  // board -> package -> places of domain 0; those of domain 1 are children of the root.
  parts.nodes.push_back({"package", 7, std::nullopt});
  parts.nodes.push_back({"tile", 0, std::nullopt});
  for (std::uint32_t i = 1; i <= 3; ++i) parts.nodes[i].parent = 6;
  const Machine machine(parts);
  Measurement measured{"2026-01-02T03:04:05Z", "a processor", 5, {"one note", "another"}, {}, {}, {}, {}};
  measured.bandwidths.push_back({0, 1, 8, "triad", {101.5e9, 0.25e9, 101.75e9}});
  measured.bandwidths.push_back({1, 1, 1, "read", {11.5e9, 0, 11.5e9}});
  measured.latencies.push_back({1, 4, "huge", {101e-9, 2e-9, 100e-9}});
  measured.latencies.push_back({1, 4, "small", {151e-9, 3e-9, 150e-9}, 12.5e9});
  measured.times.push_back({1, "l2.hit", {4.5e-9, 1e-9, 4e-9}});
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
  EXPECT_EQ(again.measured->latencies[0].seconds.best, 100e-9);
  ASSERT_EQ(again.measured->times.size(), 1u);
  EXPECT_EQ(again.measured->times[0].figure, "l2.hit");
  EXPECT_EQ(again.measured->times[0].initiator, 1);
  EXPECT_EQ(again.measured->latencies[0].load, 0);
  EXPECT_EQ(again.measured->latencies[1].load, 12.5e9);
  const auto& nodes = again.machine.nodes();
  std::uint32_t hbm0 = 0;
  while (nodes[hbm0].name != "hbm0") ++hbm0;
  EXPECT_EQ(nodes[*nodes[hbm0].parent].name, "package");
  EXPECT_EQ(nodes[*nodes[*nodes[hbm0].parent].parent].name, "tile");
}

TEST(MachineFile, LibraryTimes_RoundTrip) {
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

TEST(MachineFile, Tlbs_RoundTrip) {
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

TEST(MachineFile, Geometries_RoundTrip) {
  auto parts = example_parts();
  set_geometry(parts, 3);
  const Machine machine(parts);
  const auto text = format_machine_file(machine);
  EXPECT_NE(text.find("\n[place.geometry]\ndevices = 2\nbanks = 8\nsubarrays = 16\nrows = 1024\n"
                      "columns = 131072\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine(text, "again");
  EXPECT_EQ(blob_of(again), blob_of(machine));
  EXPECT_EQ(again.place(3).geometry, (ArrayGeometry{1024, 131072, 16, 8, 2}));
  EXPECT_FALSE(again.place(4).geometry);
  const auto blob = blob_of(machine);
  BlobReader in(blob);
  const auto from_bytes = Machine::from_blob(in);
  EXPECT_EQ(from_bytes.place(3).geometry, again.place(3).geometry);
  EXPECT_FALSE(from_bytes.place(4).geometry);
}

TEST(MachineFile, ManualsExample_Parses) {
  std::ifstream page(TERRACE_SOURCE_DIR "/docs/reference/machine-file.md");
  std::stringstream all;
  all << page.rdbuf();
  const auto text = all.str();
  const auto begin = text.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  const auto example = text.substr(begin + 8, text.find("```", begin + 8) - begin - 8);
  EXPECT_EQ(parse_machine(example, "manual").kinds(), (std::vector<std::string>{"ddr", "cxl"}));
}

TEST(MachineFile, Write_IsAtomic) {
  const auto path = fs::temp_directory_path() / ("terrace-machine-" + std::to_string(::getpid()) + ".toml");
  const Machine machine(example_parts());
  write_machine_file(path, machine);
  EXPECT_EQ(blob_of(read_machine_file(path)), blob_of(machine));
  EXPECT_FALSE(fs::exists(path.string() + ".new"));
  fs::remove(path);
  EXPECT_THROW(write_machine_file("/nonexistent/folder/x.toml", machine), Error);
}

// A file, line by line; each case replaces text in one line (or appends), and expects the exact error.
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
instruction_time = "0.25ns"
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

TEST(MachineFile, SmallExample_Parses) {
  const auto machine = parse_machine(k_good, "x.toml");
  EXPECT_EQ(machine.initiators()[0].mlp, 10);
  EXPECT_EQ(machine.initiators()[0].miss_registers, 10u);
  EXPECT_EQ(machine.initiators()[0].store_buffer, 56u);
  EXPECT_EQ(machine.initiators()[0].streams, 16u);
  EXPECT_EQ(machine.place(0).granule.value, 4096u);
}

struct Bad {
  const char* replace;  // "" appends instead
  const char* with;
  const char* complaint;
};

class BrokenFile : public ::testing::TestWithParam<Bad> {};

TEST_P(BrokenFile, InvalidFile_ReportsOneLine) {
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
            "x.toml:16: initiator.hovercraft: unknown key; the keys here are name, cores, frequency, "
            "instruction_time, "
            "mlp, "
            "prefetch_mlp, miss_registers, window, store_buffer, streams, domain, library, cache, tlb"},
        Bad{"mlp = 10", "mlp = 10\nstore_buffer = 0",
            "x.toml:17: initiator.store_buffer: 0 is out of range; it must lie between 1 and 65536"},
        Bad{"mlp = 10", "mlp = 10\nstreams = 9000",
            "x.toml:17: initiator.streams: 9000 is out of range; it must lie between 1 and 8192"},
        Bad{"mlp = 10", "mlp = 10\nlibrary = { exp = \"4ns\", sinncos = \"9ns\" }",
            "x.toml:17: initiator.library.sinncos: unknown key; did you mean 'sincos'?"},
        Bad{"mlp = 10", "mlp = 10\nlibrary = { exp = \"0ns\" }",
            "x.toml:17: initiator.library.exp: '0ns' is not above 0; write for example 86ns"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, walk = \"9ns\", level = 2 }",
            "x.toml:17: initiator.tlb.level: unknown key; the keys here are entries, ways, page, walk"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4 }",
            "x.toml:17: initiator.tlb.walk: this key is missing; add it"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 6, walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.entries: 64 is no multiple of the 6 ways; write one"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 256, walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.ways: 256 is out of range; it must lie between 1 and 255"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, page = \"5kB\", walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.page: 5000B is not a power of two; write for example 4KiB"},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, page = \"2KiB\", walk = \"9ns\" }",
            "x.toml:17: initiator.tlb.page: 2KiB is less than the smallest possible page; write at least "
            "\"4KiB\""},
        Bad{"mlp = 10", "mlp = 10\ntlb = { entries = 64, ways = 4, walk = \"0ns\" }",
            "x.toml:17: initiator.tlb.walk: '0ns' is not above 0; write for example 86ns"},
        Bad{"parent = \"package\"\n",
            "parent = \"package\"\n[place.geometry]\nbanks = 8\nsubarrays = 16\nrows = 1024\ncolumns = 65536\n",
            "x.toml:26: place.capacity: 16GiB is not what 1 device x 8 banks x 16 subarrays x 1024 rows x 65536 "
            "columns hold; write \"1GiB\""},
        Bad{"parent = \"package\"\n", "[place.geometry]\nbanks = 8\nsubarrays = 16\nrow = 1024\ncolumns = 65536\n",
            "x.toml:31: place.geometry.row: unknown key; did you mean 'rows'?"},
        Bad{"parent = \"package\"\n", "[place.geometry]\nbanks = 8\nsubarrays = 16\nrows = 1024\n",
            "x.toml:28: place.geometry.columns: this key is missing; add it"},
        Bad{"parent = \"package\"\n",
            "geometry = { devices = 0, banks = 8, subarrays = 16, rows = 1024, columns = 65536 }\n",
            "x.toml:28: place.geometry.devices: 0 is out of range; it must lie between 1 and 2147483648"},
        Bad{"parent = \"package\"\n", "geometry = { banks = 8, subarrays = 16, rows = 1024, columns = 65535 }\n",
            "x.toml:28: place.geometry.columns: 65535 are no whole bytes; give a multiple of 8"},
        Bad{"parent = \"package\"\n", "geometry = \"8x16x1024x65536\"\n",
            "x.toml:28: place.geometry: expected a table, found a text; begin it with [place.geometry]"},
        Bad{"[[group]]", "[[grup]]", "x.toml:7: grup: unknown key; did you mean 'group'?"},
        Bad{"capacity = \"16GiB\"", "capacity = \"16GB/s\"",
            "x.toml:26: place.capacity: '16GB/s' is not a size; write for example 16GiB, 64MiB or 200MB"},
        Bad{"latency = \"86ns\"", "latency = \"86\"",
            "x.toml:34: path.latency: '86' is not a time; write for example 86ns, 1.5us or 2s"},
        Bad{"latency = \"86ns\"", "latency = 86",
            "x.toml:34: path.latency: expected a text, found a whole number; write for example \"86ns\""},
        Bad{"write = \"16GB/s\"", "write = \"0GB/s\"",
            "x.toml:33: path.write: '0GB/s' is not above 0; write for example 16GB/s"},
        Bad{"capacity = \"16GiB\"", "capacity = \"0\"",
            "x.toml:26: place.capacity: '0' is not above 0; write for example 16GiB"},
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
            "x.toml:16: initiator.mlp: expected a number, found a text; write for example 10.0"},
        Bad{"cores = 4", "cores = 0",
            "x.toml:14: initiator.cores: 0 is out of range; it must lie between 1 and 16777216"},
        Bad{"cores = 4", "cores = 4.5",
            "x.toml:14: initiator.cores: expected a whole number, found a number; write for example 8"},
        Bad{"size = \"256KiB\"", "size = \"256B\"",
            "x.toml:20: initiator.cache.size: 256B is less than one line of 64B for each of 8 ways; "
            "write a larger size or fewer ways"},
        Bad{"latency = \"5ns\"", "latency = \"5ns\"\nshared = 1",
            "x.toml:23: initiator.cache.shared: expected true or false, found a whole number"},
        Bad{"latency = \"5ns\"",
            "latency = \"5ns\"\nshared = true\n[[initiator.cache]]\nname = \"l1\"\nsize = \"32KiB\"\nways = 8\n"
            "latency = \"1ns\"",
            "x.toml:24: initiator.cache.shared: a private cache is outside the shared cache 'l2'; list caches "
            "from "
            "the core outwards"},
        Bad{"name = \"dram\"", "name = \"d=ram\"",
            "x.toml:24: place.name: 'd=ram' is not a name; use up to 200 letters, digits and _ - . + :"},
        Bad{"[[path]]", "[path]", "x.toml:29: path: expected tables, found a table; begin each with [[path]]"},
        Bad{"", "[[domain]]\nname = \"other\"\ninitiator = \"cores\"\n",
            "x.toml:37: domain.initiator: 'cores' already serves domain 'node'; give each its own"},
        Bad{"", "[[copy]]\nfrom = \"dram\"\nto = \"dram\"\nbandwidth = \"fast\"\n",
            "x.toml:38: copy.bandwidth: 'fast' is not a bandwidth; write for example 16GB/s, 2000MB/s or 15GiB/s"},
        Bad{"", "[measured]\nfingerprint = \"a\"\ndate = 2026-01-01\nprocessor = \"p\"\nrepetitions = 5\n",
            "x.toml:37: measured.date: expected a text, found a date or time; write for example \"a "
            "sentence\""},
        Bad{"mlp = 10", "mlp = t\n",
            "x.toml:16: this is not TOML: Error while parsing boolean: expected 'true', saw 't?'; correct the "
            "line"},
        Bad{"mlp = 10", "mlp = 10\nmlp = 11",
            "x.toml:17: this is not TOML: Error while parsing key-value pair: cannot redefine existing integer "
            "'mlp'; correct the line"}));

TEST(FindMachine, PathsNamesAndFolders_AreFound) {
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

  const auto here = fs::current_path();
  const auto folder = fs::temp_directory_path() / ("terrace-machines-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  write_machine_file(folder / "mine.toml", Machine(example_parts()));
  write_machine_file(folder / "unimem-bw2.toml", Machine(example_parts()));
  ::setenv("TERRACE_MACHINES", ("/nonexistent::" + folder.string()).c_str(), 1);
  EXPECT_EQ(find_machine("mine"), folder / "mine.toml");
  EXPECT_EQ(find_machine("unimem-bw2"), folder / "unimem-bw2.toml")
      << "the folders of $TERRACE_MACHINES come first";
  ::unsetenv("TERRACE_MACHINES");
  fs::current_path(folder);
  for (const auto* const name : {"mine.txt", "unimem-bw4"}) write_machine_file(name, Machine(example_parts()));
  EXPECT_EQ(find_machine("mine.txt"), "mine.txt") << "an existing file needs no '/'";
  EXPECT_EQ(find_machine("unimem-bw4"), fs::path(TERRACE_SOURCE_DIR "/machines/unimem-bw4.toml"));
  fs::current_path(here);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace terrace::machine
