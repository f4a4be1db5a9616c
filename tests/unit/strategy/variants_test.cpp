// Tests that the tables of variants equal the folders: each file is in its table once, under a unique name.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "core/error.hpp"
#include "observe/collector_variant.hpp"
#include "observe/progress_variant.hpp"
#include "strategy/planner.hpp"
#include "transfer/copier.hpp"

namespace terrace {
namespace {

std::size_t files_in(const std::string& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TERRACE_SOURCE_DIR "/src/" + folder))
    files += entry.path().extension() == ".cpp";
  return files;
}

std::size_t names_of(const auto& variants) {
  std::set<std::string> names;
  for (const auto* variant : variants) names.emplace(variant->name());
  return names.size();
}

TEST(Variants, Table_EqualsFilesOfFolders) {
  const auto strategies = files_in("tiering/strategy/planners") + files_in("tiering/strategy/static") +
                          files_in("tiering/strategy/policies");
  EXPECT_GT(strategies, 15u);
  EXPECT_EQ(names_of(strategy::variants()), strategies);
  EXPECT_EQ(names_of(transfer::copiers()), files_in("foundation/transfer/copiers"));
  EXPECT_EQ(names_of(observe::collectors()), files_in("tiering/observe/collectors"));
  EXPECT_EQ(names_of(observe::progresses()), files_in("tiering/observe/progress"));
}

TEST(Variants, EachName_IsFound) {
  for (const auto* variant : strategy::variants()) EXPECT_EQ(&strategy::find_variant(variant->name()), variant);
  EXPECT_EQ(observe::find_collector(observe::k_default_collector).name(), observe::k_default_collector);
  EXPECT_EQ(observe::find_progress(observe::k_default_progress).name(), observe::k_default_progress);
  EXPECT_EQ(strategy::find_variant(strategy::k_default_variant).name(), strategy::k_default_variant);
}

TEST(Variants, UnknownName_IsRejectedWithList) {
  const auto refused = [](auto find, const std::string& known) {
    try {
      find();
      ADD_FAILURE() << known;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_NE(std::string(error.what()).find(known), std::string::npos) << error.what();
    }
  };
  refused([] { strategy::find_variant("none"); }, "memtis");
  refused([] { observe::find_collector("none"); }, "exact");
  refused([] { observe::find_progress("none"); }, "instructions");
}

TEST(Variants, SimulationOnly_MakesNoPlan) {
  for (const auto* variant : strategy::variants())
    EXPECT_NE(variant->planner() != nullptr, variant->is_simulation_only());
}

}  // namespace
}  // namespace terrace
