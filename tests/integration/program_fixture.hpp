// Fixture for tests of whole programs: a temporary directory in which commands run and write profiles.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "run_program.hpp"
#include "store_dump.hpp"

namespace terrace::test {

// A directory on a disk, because the usual one for temporary files may be in memory.
class DiskFolder {
 public:
  DiskFolder() {
    if (!mkdtemp(path_.data())) throw std::runtime_error(path_ + ": cannot be made");
  }
  ~DiskFolder() { std::filesystem::remove_all(path_); }
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/var/tmp/terrace-test-XXXXXX";
};

class ProgramTest : public ::testing::Test {
 protected:
  explicit ProgramTest(const std::string& name)
      : root_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
    if (!mkdtemp(root_.data())) throw std::runtime_error(root_ + ": cannot be made");
  }
  ~ProgramTest() override { std::filesystem::remove_all(root_); }

  // Ends a command that hangs, with status 124.
  [[nodiscard]] Outcome run(const std::string& command) const {
    return run_program("cd '" + root_ + "' && XDG_CACHE_HOME='" + root_ + "' timeout 600 " + command + " 2>&1");
  }
  [[nodiscard]] std::vector<std::string> rows(const std::string& store,
                                              const std::set<std::string>& left_out) const {
    return dump_store(root_ + "/" + store, left_out);
  }
  [[nodiscard]] double number(const std::string& store, const std::string& query) const {
    return store_number(root_ + "/" + store, query);
  }

  std::string root_;
};

}  // namespace terrace::test
