// Tests programs of several files, built by the plain compilers and by the wrappers, natively and under every
// subcommand: output and exit status must not differ, and objects must have the right names.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

// A folder that is removed when the process ends.
struct Folder {
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (!path.empty()) fs::remove_all(path);
  }
  fs::path path;
};

// Copies of the programs' folders, built once for all suites.
class Programs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!root.empty()) return;
    root = fs::temp_directory_path() / ("transparent-" + std::to_string(getpid()));
    fs::create_directories(root);
    for (const char* built : {"plain", "hooks"})
      fs::copy(TERRACE_SOURCE_DIR "/tests/integration/programs", root / built, fs::copy_options::recursive);
    const std::string wrappers = "CC=" TERRACE_WRAPPERS "/terrace-cc CXX=" TERRACE_WRAPPERS
                                 "/terrace-c++ FC=" TERRACE_WRAPPERS "/terrace-fc";
    for (const char* name : {"c", "cxx", "fortran", "torture", "inside"}) {
      const auto make = [&](const std::string& built, const std::string& variables) {
        const auto made = run_program("env -u MAKEFLAGS -u MAKELEVEL make -s -C '" +
                                      (root / built / name).string() + "' " + variables + " 2>&1");
        ASSERT_EQ(made.status, 0) << made.output;
        EXPECT_EQ(made.output, "") << "the wrappers bring no warning of their own";
      };
      make("plain", "");
      make("hooks", wrappers);
    }
  }

  // The launcher's messages go to standard error, like the program's.
  static Outcome run(const std::string& before, const std::string& built, const std::string& program) {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() + "' " + before + " '" +
                       (root / built / program).string() + "' 2>/dev/null");
  }
  static std::string simulate() {
    return TERRACE_LAUNCHER " simulate -q --machine unimem-lat4 -o profile.terrace --";
  }
  static std::string record() { return TERRACE_LAUNCHER " record -q -o profile.terrace --"; }
  static std::string manage() { return TERRACE_LAUNCHER " run -q -o profile.terrace --"; }

  // Returns names and sizes of the objects in the last command's profile, and removes it.
  static std::map<std::string, long> objects() {
    std::map<std::string, long> found;
    sqlite3* store = nullptr;
    const auto path = (root / "profile.terrace").string();
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &store, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(
                  store, "select name, size from object",
                  [](void* out, int, char** values, char**) {
                    (*static_cast<std::map<std::string, long>*>(out))[values[0]] = std::stol(values[1]);
                    return 0;
                  },
                  &found, nullptr),
              SQLITE_OK);
    sqlite3_close(store);
    fs::remove(path);
    return found;
  }

  static Folder folder;
  static fs::path& root;
};

Folder Programs::folder;
fs::path& Programs::root = Programs::folder.path;

struct Case {
  const char* name;
  const char* program;
  int status;
};

class Transparent : public Programs, public ::testing::WithParamInterface<Case> {};

TEST_P(Transparent, Program_InEveryMode_HasTheSameOutputAndStatus) {
  const auto [name, program, status] = GetParam();
  const auto native = run("", "plain", program);
  ASSERT_EQ(native.status, status) << native.output;
  const std::map<std::string, std::string> ways{{"alone", ""},
                                                {"switched off", "TERRACE=off " + simulate()},
                                                {"simulate", simulate()},
                                                {"record", record()},
                                                {"run", manage()}};
  for (const auto& [way, before] : ways)
    for (const char* built : {"plain", "hooks"}) {
      const auto outcome = run(before, built, program);
      EXPECT_EQ(outcome.status, status) << way << ", built with " << built;
      EXPECT_EQ(outcome.output, native.output) << way << ", built with " << built;
      fs::remove(root / "profile.terrace");
    }
}

INSTANTIATE_TEST_SUITE_P(All, Transparent,
                         ::testing::Values(Case{"heat", "c/heat", 0}, Case{"particles", "cxx/particles", 0},
                                           Case{"fields", "fortran/fields", 0},
                                           Case{"torture", "torture/torture", 42},
                                           Case{"inside", "inside/inside", 0}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(Programs, CProgram_Recorded_HasItsObjects) {
  ASSERT_EQ(run(simulate(), "hooks", "c/heat").status, 0);
  const auto found = objects();
  // Through xmalloc, through calloc, a table of the file's own, a global one.
  EXPECT_TRUE(found.contains("new_temperature cells.c:7"));
  EXPECT_TRUE(found.contains("new_history cells.c:12"));
  EXPECT_TRUE(found.contains("conductivity"));
  EXPECT_TRUE(found.contains("boundary"));
}

TEST_F(Programs, CxxProgram_Recorded_HasItsObjects) {
  ASSERT_EQ(run(simulate(), "hooks", "cxx/particles").status, 0);
  const auto found = objects();
  const auto begins = [&](const std::string& start) {
    return std::ranges::any_of(found, [&](const auto& object) { return object.first.starts_with(start); });
  };
  EXPECT_TRUE(begins("Particles::Particles particles.cpp:"));
  EXPECT_TRUE(begins("Cells::add cells.cpp:"));
  for (const auto& [name, size] : found) {
    EXPECT_EQ(name.find("std::"), std::string::npos) << name;
    EXPECT_EQ(name.find("operator new"), std::string::npos) << name;
  }
}

TEST_F(Programs, FortranProgram_Recorded_HasItsObjects) {
  ASSERT_EQ(run(simulate(), "hooks", "fortran/fields").status, 0);
  const auto found = objects();
  for (const char* name : {"fields_.a", "fields_.b", "fields_.c", "tally.counts"}) {
    ASSERT_TRUE(found.contains(name)) << name;
    // 131,072 doubles; the first and the last page may belong to a neighbour.
    EXPECT_NEAR(static_cast<double>(found.at(name)), 131072 * 8.0, 4096) << name;
  }
  EXPECT_TRUE(std::ranges::any_of(
      found, [](const auto& object) { return object.first.starts_with("profile profile.f90:"); }));
}

// The object names of a run, in the order of the map, are the same under address randomisation.
TEST_F(Programs, Objects_InEveryRun_AreTheSame) {
  run(simulate(), "hooks", "cxx/particles");
  const auto first = objects();
  run("LONGER_ENVIRONMENT=" + std::string(3000, 'x') + " " + simulate(), "hooks", "cxx/particles");
  EXPECT_EQ(objects(), first);
}

// Tests messages about phases, and which were observed, for a program of three member functions.
TEST_F(Programs, PhasesOption_NameSuffix_SelectsFunctions) {
  const auto phases = [](const std::string& names) {
    return run_program("cd '" + root.string() + "' && XDG_CACHE_HOME='" + root.string() +
                       "' " TERRACE_LAUNCHER
                       " simulate --machine unimem-lat4 --core-time 0.25ns -o profile.terrace --phases " +
                       names + " -- '" + (root / "hooks/cxx/particles").string() + "' 3 2>&1 >/dev/null");
  };
  const auto by_ends = phases("push,deposit,Particles::record");
  EXPECT_NE(by_ends.output.find("terrace: 3 iterations"), std::string::npos) << by_ends.output;
  EXPECT_EQ(std::ranges::count(by_ends.output, '\n'), 1) << by_ends.output;
  objects();
  const auto mistyped = phases("push,depositt");
  EXPECT_NE(mistyped.output.find("particles is called 'depositt'"), std::string::npos) << mistyped.output;
  EXPECT_NE(mistyped.output.find("no function 'depositt' was entered"), std::string::npos) << mistyped.output;
  EXPECT_NE(mistyped.output.find("terrace: 3 iterations"), std::string::npos) << mistyped.output;
  EXPECT_EQ(std::ranges::count(mistyped.output, '\n'), 3) << mistyped.output;
  objects();
}

std::set<std::string> promised_by(const char* path) {
  std::set<std::string> promised;
  std::ifstream map(path);
  for (std::string line; std::getline(map, line);) {
    const auto from = line.find_first_not_of(' ');
    if (from == 4 && line.ends_with(";") && line.find('*') == std::string::npos)
      promised.insert(line.substr(4, line.size() - 5));
  }
  return promised;
}

std::set<std::string> shown_by(const std::string& library) {
  std::set<std::string> shown;
  std::istringstream names(run_program("nm -D --defined-only --format=just-symbols '" + library + "'").output);
  for (std::string name; names >> name;) shown.insert(name.substr(0, name.find('@')));
  return shown;
}

TEST(Library, Exports_OfTheLibrary_AreThoseOfItsMap) {
  const auto shown = shown_by(TERRACE_LIBRARY);
  EXPECT_EQ(shown, promised_by(TERRACE_MAP));
  EXPECT_TRUE(shown.contains("terrace_phase") && shown.contains("malloc") && shown.contains("__tsan_read8"));
}

TEST(Library, Exports_OfTheUninstrumentedVariant_AreFewer) {
  const auto shown = shown_by(TERRACE_UNFOLLOWED);
  EXPECT_EQ(shown, promised_by(TERRACE_UNFOLLOWED_MAP));
  for (const char* name : {"terrace_phase", "malloc", "mmap", "execve", "pthread_create"})
    EXPECT_TRUE(shown.contains(name)) << name;
  for (const char* name :
       {"__tsan_read8", "memcpy", "pthread_mutex_lock", "sin", "clock_gettime", "GOMP_parallel"})
    EXPECT_FALSE(shown.contains(name)) << name;
}

TEST(Library, Dependencies_OfTheLibrary_AreTheCLibraryAlone) {
  for (const std::string library : {TERRACE_LIBRARY, TERRACE_UNFOLLOWED}) {
    std::istringstream lines(run_program("readelf -d '" + library + "' | grep NEEDED").output);
    std::set<std::string> needed;
    for (std::string line; std::getline(lines, line);)
      needed.insert(line.substr(line.find('[') + 1, line.rfind(']') - line.find('[') - 1));
    EXPECT_TRUE(needed.erase("libc.so.6") == 1) << library;
    // The C library's other half: where thread-local storage comes from.
    for (const auto& name : needed) EXPECT_TRUE(name.starts_with("ld-linux")) << library << ": " << name;
  }
}

}  // namespace
}  // namespace terrace::test
