// Tests [[file]], [[ordering]], [[copier]], distances, sources and measured copiers in machine files: round trips,
// selection by name, and one error line for each violation of the schema.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "example.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

MachineParts with_a_file() {
  auto parts = example_parts();
  parts.files = {{"disk", 1, {6.5e9}, {3.5e9}, {80e-6}, 64}};
  return parts;
}

bool same(const BackingFile& one, const BackingFile& other) {
  return one.name == other.name && one.beside == other.beside && one.read.value == other.read.value &&
         one.write.value == other.write.value && one.latency.value == other.latency.value &&
         one.requests == other.requests;
}

TEST(FileTable, TextAndBlob_RoundTrip) {
  const Machine machine(with_a_file());
  const auto text = format_machine_file(machine);
  const auto beside = machine.place(1).name;
  EXPECT_NE(text.find("\n[[file]]\nname = \"disk\"\nbeside = \"" + beside +
                      "\"\nread = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency = \"80us\"\nrequests = 64\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine(text, "again");
  ASSERT_EQ(again.parts().files.size(), 1u);
  EXPECT_TRUE(same(again.parts().files[0], machine.parts().files[0]));
  EXPECT_EQ(blob_of(again), blob_of(machine));
  const auto bytes = blob_of(machine);
  BlobReader in(bytes);
  EXPECT_TRUE(same(Machine::from_blob(in).parts().files.at(0), machine.parts().files[0]));
}

TEST(FileTable, FileBeside_FindsByMemory) {
  const Machine machine(with_a_file());
  ASSERT_NE(machine.find_backing_file(1), nullptr);
  EXPECT_EQ(machine.find_backing_file(1)->name, "disk");
  EXPECT_EQ(machine.find_backing_file(0), nullptr);
}

// Iteration over places does not include backing files.
TEST(FileTable, BackingFile_IsNotAPlace) {
  const Machine with(with_a_file());
  const Machine without(example_parts());
  EXPECT_EQ(with.places().size(), without.places().size());
  EXPECT_EQ(with.kinds(), without.kinds());
  EXPECT_EQ(with.find_place("disk"), std::nullopt);
  EXPECT_THROW(parse_budget(with, "disk=1GiB"), Error);
  for (DomainId d = 0; d < with.domains().size(); ++d) {
    EXPECT_EQ(with.fastest_first(d), without.fastest_first(d));
    EXPECT_EQ(with.home(d), without.home(d));
  }
}

TEST(FileTable, InvalidKeys_AreRefusedInOneLine) {
  const auto text = format_machine_file(Machine(with_a_file()));
  const auto beside = Machine(with_a_file()).place(1).name;
  const std::string second = "[[file]]\nname = \"other\"\nbeside = \"" + beside +
                             "\"\nread = \"1GB/s\"\nwrite = \"1GB/s\"\nlatency = \"1ms\"\nrequests = 1\n";
  struct Case {
    std::string old, now, complaint;
  };
  for (const auto& [old, now, complaint] : {
           Case{"read = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency", "write = \"3.5GB/s\"\nlatency", "file.read"},
           Case{"read = \"6.5GB/s\"\nwrite = \"3.5GB/s\"\nlatency",
                "read = \"0GB/s\"\nwrite = \"3.5GB/s\"\nlatency", "file.read"},
           Case{"latency = \"80us\"\nrequests", "latency = \"fast\"\nrequests", "file.latency"},
           Case{"requests = 64", "requests = 0", "file.requests"},
           Case{"requests = 64", "requests = 65537", "file.requests"},
           Case{"requests = 64", "requests = 64\ncapacity = \"1TB\"", "file.capacity"},
           Case{"name = \"disk\"", "name = \"" + beside + "\"", "a place is called"},
           Case{"name = \"disk\"\nbeside = \"" + beside, "name = \"disk\"\nbeside = \"nowhere", "file.beside"},
           Case{"requests = 64\n", "requests = 64\n" + second, "already; keep one"},
       }) {
    auto broken = text;
    const auto at = broken.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    broken.replace(at, old.size(), now);
    try {
      parse_machine(broken, "x.toml");
      ADD_FAILURE() << now;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_EQ(said.find("x.toml:"), 0u) << said;
      EXPECT_NE(said.find(complaint), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
  }
}

TEST(FileTable, ContradictingParts_AreRefused) {
  const auto refuses = [](auto change) {
    auto parts = with_a_file();
    change(parts);
    EXPECT_THROW(Machine{parts}, Error);
  };
  refuses([](MachineParts& parts) { parts.files[0].beside = 99; });
  refuses([](MachineParts& parts) { parts.files[0].name = parts.places[0].name; });
  refuses([](MachineParts& parts) { parts.files[0].name = ""; });
  refuses([](MachineParts& parts) { parts.files[0].write = {}; });
  refuses([](MachineParts& parts) { parts.files[0].latency = {-1}; });
  refuses([](MachineParts& parts) { parts.files[0].requests = 0; });
  refuses([](MachineParts& parts) {
    parts.files.push_back(parts.files[0]);
    parts.files.back().name = "other";
  });
}

TEST(OrderingTable, Orderings_RoundTrip) {
  auto parts = example_parts();
  parts.orderings = {{"scratch", InitiatorId{1}, {{{"hbm1"}, false}, {{"ddr0", "ddr1"}, true}, {{"cxl0"}, false}}},
                     {"capacity", std::nullopt, {{{"cxl"}, false}, {{"ddr"}, true}}}};
  parts.paths[0].distance = 31;
  parts.paths[0].bandwidth_source = Source::firmware;
  parts.paths[1].latency_source = Source::kind;
  const Machine machine(parts);
  const auto text = format_machine_file(machine);
  EXPECT_NE(text.find("\n[[ordering]]\nintent = \"scratch\"\ninitiator = \"cores1\"\n"
                      "places = [\"hbm1\", [\"ddr0\", \"ddr1\"], \"cxl0\"]\n"
                      "\n[[ordering]]\nintent = \"capacity\"\nplaces = [\"cxl\", [\"ddr\"]]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("distance = 31\nbandwidth_source = \"firmware\"\n"), std::string::npos) << text;
  const auto again = parse_machine(text, "again");
  EXPECT_EQ(again.parts().orderings, machine.parts().orderings);
  EXPECT_EQ(again.parts().paths[1].latency_source, Source::kind);
  EXPECT_EQ(again.parts().paths[1].bandwidth_source, Source::file);
  EXPECT_EQ(blob_of(again), blob_of(machine));
  EXPECT_EQ(format_machine_file(again), text);
}

// Line numbers of a file that appends tables to the example, whose last line is `lines`.
class Refusals : public ::testing::Test {
 protected:
  void refused(const std::string& table, std::size_t line, const std::string& because) const {
    try {
      parse_machine(good_ + table, "m.toml");
      ADD_FAILURE() << table;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_EQ(std::string(error.what()), "m.toml:" + std::to_string(lines_ + line) + ": " + because);
    }
  }
  void accepted(const std::string& table) const { EXPECT_NO_THROW(parse_machine(good_ + table, "m")) << table; }

 private:
  std::string good_ = format_machine_file(Machine(example_parts()));
  std::size_t lines_ = static_cast<std::size_t>(std::ranges::count(good_, '\n'));
};

TEST_F(Refusals, InvalidOrdering_IsRefused) {
  accepted("[[ordering]]\nintent = \"mine\"\nplaces = [\"hbm0\"]\n");
  accepted("[[ordering]]\nintent = \"normal\"\ninitiator = \"cores1\"\nplaces = [[\"hbm\", \"ddr1\"], \"ddr\"]\n");
  refused("[[ordering]]\nplaces = [\"hbm0\"]\n", 1, "ordering.intent: this key is missing; add it");
  refused("[[ordering]]\nintent = \"a b\"\nplaces = [\"hbm0\"]\n", 2,
          "ordering.intent: 'a b' is not a name; use up to 200 letters, digits and _ - . + :");
  refused("[[ordering]]\nintent = \"x\"\n", 1, "ordering.places: this key is missing; add it");
  refused("[[ordering]]\nintent = \"x\"\nplace = [\"hbm0\"]\n", 3,
          "ordering.place: unknown key; did you mean 'places'?");
  refused("[[ordering]]\nintent = \"x\"\ninitiator = \"cores9\"\nplaces = [\"hbm0\"]\n", 3,
          "ordering.initiator: there is no initiator 'cores9'; did you mean 'cores0'?");
  refused("[[ordering]]\nintent = \"x\"\nplaces = \"hbm0\"\n", 3,
          "ordering.places: expected an array of names, found a text; write for example [\"hbm0\", \"ddr0\"]");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm0\", 1]\n", 3,
          "ordering.places: expected a name, found a whole number");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm0\", [\"ddr0\", [\"ddr1\"]]]\n", 3,
          "ordering.places: expected a name, found an array");
  refused("[[ordering]]\nintent = \"x\"\nplaces = []\n", 3,
          "ordering.places: it names no place; name at least one");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm0\", []]\n", 3,
          "ordering.places: a tie names no place; leave it out, or name its places");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm0\", [\"ddr0\", \"hbm0\"]]\n", 3,
          "ordering.places: 'hbm0' is in it twice; keep one");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm7\"]\n", 3,
          "ordering.places: there is no place and no kind 'hbm7'; did you mean 'hbm0'?");
  refused(
      "[[ordering]]\nintent = \"x\"\nplaces = [\"tape\"]\n", 3,
      "ordering.places: there is no place and no kind 'tape'; there are hbm0, ddr0, cxl0, hbm1, ddr1, hbm, ddr, "
      "cxl");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm\\n0\"]\n", 3,
          "ordering.places: 'hbm?0' is not a name; use up to 200 letters, digits and _ - . + :");
  refused("[[ordering]]\nintent = \"x\"\nplaces = [\"hbm0\"]\n[[ordering]]\nintent = \"x\"\nplaces = [\"ddr0\"]\n",
          5, "ordering.intent: a second ordering for 'x' and all initiators; keep one");
  refused(
      "[[ordering]]\nintent = \"x\"\ninitiator = \"cores0\"\nplaces = [\"hbm0\"]\n"
      "[[ordering]]\nintent = \"x\"\ninitiator = \"cores0\"\nplaces = [\"ddr0\"]\n",
      6, "ordering.intent: a second ordering for 'x' and 'cores0'; keep one");
}

TEST(OrderingTable, InvalidDistancesAndSources_AreRefused) {
  const auto good = format_machine_file(Machine(example_parts()));
  const auto refused = [&](const std::string& key, const std::string& because) {
    auto text = good;
    text.insert(text.find("place = \"hbm0\"\nread"), key + "\n");
    try {
      parse_machine(text, "m");
      ADD_FAILURE() << key;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(because), std::string::npos) << error.what();
    }
  };
  refused("distance = 0", "path.distance: 0 is out of range; it must lie between 1 and 254");
  refused("distance = 255", "path.distance: 255 is out of range");
  refused("latency_source = \"hmat\"",
          "path.latency_source: 'hmat' is no source; write file, measured, firmware, distance or kind");
  refused("bandwidth_source = 1", "path.bandwidth_source: expected a text, found a whole number");
}

namespace fs = std::filesystem;

TEST(MachineFile, MeasuredCopiers_RoundTrip) {
  auto parts = example_parts();
  parts.fingerprint = "f00d";
  parts.copiers = {{.name = "swap", .call = {25e-6}}};
  Measurement measured{"2026-01-02T03:04:05Z", "a processor", 5, {}, {}, {}, {}, {}};
  measured.copiers = {{"swap", "move", "small", {512u << 10}, {41.25e-6, 0.5e-6, 41e-6}},
                      {"swap", "stall", "huge", {2u << 20}, {0, 0}}};
  const Machine machine(parts);
  const auto text = format_machine_file(machine, &measured);
  EXPECT_NE(text.find("\n[[measured.copier]]\ncopier = \"swap\"\nwhat = \"move\"\npages = \"small\"\n"
                      "size = \"512KiB\"\nbest = \"41us\"\nmedian = \"41.25us\"\nspread = \"500ns\"\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine_file(text, "again");
  ASSERT_EQ(again.measured->copiers.size(), 2u);
  EXPECT_EQ(again.measured->copiers[0].what, "move");
  EXPECT_EQ(again.measured->copiers[0].size.value, 512u << 10);
  EXPECT_EQ(again.measured->copiers[0].seconds.median, 41.25e-6);
  EXPECT_EQ(again.measured->copiers[1].seconds.median, 0);
  EXPECT_EQ(format_machine_file(again.machine, &*again.measured), text);
  measured.copiers[0].copier = "swop";
  try {
    parse_machine_file(format_machine_file(machine, &measured), "x.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("measured.copier.copier: there is no copier 'swop'; did you mean 'swap'?"),
        std::string::npos)
        << error.what();
  }
}

TEST(MachineFile, Copiers_RoundTrip) {
  auto parts = example_parts();
  parts.copiers = {
      {"swap", {2 << 20}, {25e-6}, {{{4096}, {0.2e-6}}, {{2 << 20}, {}}}, {20e-6}, Seconds{4e-6}, 4, 15},
      {"user-copy", {}, {}, {}, {}, Seconds{}, 1, 0},
      {.name = k_ideal_copier}};
  const Machine machine(parts);
  const auto text = format_machine_file(machine);
  EXPECT_NE(text.find("\n[[copier]]\nname = \"swap\"\npiece = \"2MiB\"\ncall = \"25us\"\n"
                      "pages = [{ page = \"4KiB\", remap = \"200ns\" }, { page = \"2MiB\", remap = \"0s\" }]\n"
                      "stall = \"20us\"\ntrap = \"4us\"\nthreads = 4\nlines = 15.0\n"),
            std::string::npos)
      << text;
  const auto again = parse_machine(text, "again");
  EXPECT_EQ(again.parts().copiers, machine.parts().copiers);
  EXPECT_EQ(blob_of(again), blob_of(machine));
  const auto blob = blob_of(machine);
  BlobReader in(blob);
  EXPECT_EQ(Machine::from_blob(in).parts().copiers, machine.parts().copiers);
  EXPECT_EQ(Machine(example_parts()).copier().name, k_ideal_copier);
}

TEST(MachineFile, CopierSuffix_SelectsCopier) {
  auto parts = example_parts();
  parts.copiers = {{.name = "swap"}, {.name = "user-copy"}};
  const auto path =
      (fs::temp_directory_path() / ("terrace-copiers-" + std::to_string(::getpid()) + ".toml")).string();
  write_machine_file(path, Machine(parts));
  EXPECT_EQ(load_machine(path).machine.copier().name, "swap");
  EXPECT_EQ(load_machine(path + "@user-copy").machine.copier().name, "user-copy");
  EXPECT_EQ(load_machine(path + "@ideal").machine.copier(), CopierPrice{.name = k_ideal_copier});
  try {
    load_machine(path + "@slow");
    FAIL() << "no copier has that name";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_STREQ(error.what(), "machine 'example' has no copier 'slow'; it has swap, user-copy, ideal");
  }
  fs::remove(path);
}

TEST(MachineFile, InvalidCopiers_AreRefused) {
  const auto good = format_machine_file(Machine(example_parts()));
  const auto refused = [&](const std::string& copier, const std::string& because) {
    try {
      parse_machine(good + "\n[[copier]]\n" + copier, "m");
      FAIL() << copier;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(because), std::string::npos) << error.what();
    }
  };
  refused("call = \"1us\"\n", "copier.name");
  refused("name = \"a\"\nspeed = 3\n", "speed");
  refused("name = \"a\"\n[[copier]]\nname = \"a\"\n", "a second copier is called 'a'");
  refused("name = \"ideal\"\ncall = \"1us\"\n", "costs bytes alone");
  refused("name = \"a\"\nlines = 15.0\n", "say how many with threads");
  refused("name = \"a\"\nstall = \"-1us\"\n", "stall");
  refused("name = \"a\"\nthreads = 5000\n", "threads");
  refused("name = \"a\"\npages = [{ page = \"2MiB\", remap = \"1us\" }, { page = \"4KiB\", remap = \"1us\" }]\n",
          "put 4KiB before 2MiB");
}

}  // namespace

}  // namespace terrace::machine
