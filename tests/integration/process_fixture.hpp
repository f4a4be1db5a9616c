// Fixture for tests of a process under Terrace.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "run_program.hpp"

namespace terrace::test {

// A directory with the programs of tests/integration/programs/process, built with the wrappers.
class Process : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root = std::filesystem::temp_directory_path() / ("process-" + std::to_string(getpid()));
    std::filesystem::copy(TERRACE_SOURCE_DIR "/tests/integration/programs/process", root,
                          std::filesystem::copy_options::recursive);
    const auto made = run_program("env -u MAKEFLAGS -u MAKELEVEL make -s -C '" + root.string() +
                                  "' CC=" TERRACE_WRAPPERS "/terrace-cc 2>&1");
    ASSERT_EQ(made.status, 0) << made.output;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(root); }
  void TearDown() override {
    for (const auto& entry : std::filesystem::directory_iterator(root))
      if (entry.path().extension() == ".terrace") std::filesystem::remove(entry.path());
  }

  // Ends a program that hangs, with status 124. The launcher's messages go to standard error.
  static Outcome simulate(const std::string& command, const std::string& options = "") {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                       "' timeout 600 " TERRACE_LAUNCHER " simulate -q --machine unimem-lat4 -o profile.terrace " +
                       options + " -- " + command + " 2>&1");
  }
  // Returns the launcher's messages.
  static Outcome summary(const std::string& command, const std::string& options) {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                       "' timeout 600 " TERRACE_LAUNCHER " simulate --machine unimem-lat4 -o profile.terrace " +
                       options + " -- " + command + " 2>&1 > /dev/null");
  }
  // Returns the first column of a query to a profile.
  static std::vector<std::string> ask(const std::string& file, const std::string& query) {
    std::vector<std::string> rows;
    sqlite3* store = nullptr;
    EXPECT_EQ(sqlite3_open_v2((root / file).c_str(), &store, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(
                  store, query.c_str(),
                  [](void* out, int, char** values, char**) {
                    static_cast<std::vector<std::string>*>(out)->emplace_back(values[0] ? values[0] : "");
                    return 0;
                  },
                  &rows, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(store);
    sqlite3_close(store);
    return rows;
  }

  inline static std::filesystem::path root;
};

}  // namespace terrace::test
