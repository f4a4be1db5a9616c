// Tests [[copier]] in machine files and measured copiers: round trips, selection by name, and one error line for
// each violation of the schema.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.hpp"
#include "example.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {
namespace {

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
