// Tests [[ordering]], distances and sources in machine files: round trips, and one error line for each violation
// of the schema.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "example.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

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

TEST_F(Refusals, OfOrderings) {
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
          "ordering.places: expected an array of names, found a text");
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

}  // namespace
}  // namespace terrace::machine
