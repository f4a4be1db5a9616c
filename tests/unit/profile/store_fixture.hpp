// Fixture: a folder for journals and stores, and queries of a store.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "profile/store/store.hpp"
#include "profile/store/store_database.hpp"
#include "support/synthetic_job.hpp"

namespace terrace::profile {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "store.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Merges the journal of a killed process and a complete one.
  MergeSummary merge_two() {
    test::write_synthetic_journal(path("1.journal"), {.process = 11});
    test::write_synthetic_journal(path("2.journal"), {.process = 12, .ends = false, .plans = false});
    return merge_journals({path("1.journal"), path("2.journal")}, path("heat.7.terrace"));
  }
  std::int64_t count(const std::string& file, const std::string& what) {
    Database database(file, Database::Mode::read);
    Statement query(database, "SELECT count(*) FROM " + what);
    return query.step() ? query.integer(0) : -1;
  }

  fs::path folder_;
};

}  // namespace terrace::profile
