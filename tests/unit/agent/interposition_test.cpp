// Tests interposed functions, APIs and adapters from outside: runs a program with a recording runtime.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "observe/symbols/files/symbols_writer.hpp"

namespace terrace {
namespace {

struct Object {
  std::string name;
  int kind = 0;
  unsigned long long low = 0, size = 0;
  bool live = true;
};

struct Outcome {
  int status = 0;
  std::string output;
  std::vector<std::string> lines;  // what the runtime was told
  std::vector<Object> objects;     // in order
  [[nodiscard]] bool told(const std::string& line) const { return std::ranges::find(lines, line) != lines.end(); }
  [[nodiscard]] long count(const std::string& line) const { return std::ranges::count(lines, line); }
  [[nodiscard]] const Object* object(const std::string& name) const {
    for (const auto& one : objects)
      if (one.name == name) return &one;
    return nullptr;
  }
};

// Reads the log and checks its invariants: live objects are disjoint, and none is removed twice.
void read_log(const std::string& path, Outcome& outcome) {
  std::ifstream file(path);
  std::map<unsigned, std::size_t> live;
  for (std::string line; std::getline(file, line);) {
    outcome.lines.push_back(line);
    std::istringstream in(line);
    std::string word;
    unsigned id = 0;
    in >> word;
    if (word == "start") live.clear();  // another process
    if (word == "added") {
      Object object;
      in >> id >> object.kind >> std::hex >> object.low >> object.size >> std::dec;
      std::getline(in >> std::ws, object.name);
      for (const auto& [other, index] : live) {
        const auto& old = outcome.objects[index];
        EXPECT_TRUE(object.low >= old.low + old.size || old.low >= object.low + object.size)
            << object.name << " overlaps " << old.name;
      }
      live[id] = outcome.objects.size();
      outcome.objects.push_back(object);
    } else if (word == "removed") {
      in >> id;
      ASSERT_TRUE(live.contains(id)) << line;
      outcome.objects[live[id]].live = false;
      live.erase(id);
    }
  }
}

// A temporary directory that is removed at the end of the process.
class SymbolFile {
 public:
  SymbolFile()
      : folder_(::testing::TempDir() + "terrace-doors-" + std::to_string(getpid())),
        path_(observe::write_symbol_file(TERRACE_SUBJECT, folder_)) {}
  ~SymbolFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SymbolFile(const SymbolFile&) = delete;
  SymbolFile& operator=(const SymbolFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

const std::string& symbol_file() {
  static const SymbolFile file;
  return file.path();
}

Outcome run(const std::string& what, const std::string& variables = "", bool session = true) {
  const auto log = ::testing::TempDir() + "doors-" + std::to_string(getpid()) + ".log";
  unlink(log.c_str());
  // /usr/bin/env preloads the library in the program only.
  const auto command = "env " + (session ? "TERRACE_SESSION=" + log + " " : std::string()) +
                       "TERRACE_TEST_SYMBOLS=" + symbol_file() + " " + variables +
                       " LD_PRELOAD=" TERRACE_RECORDING " " TERRACE_SUBJECT " " + what;
  Outcome outcome;
  std::FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const auto n = fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  read_log(log, outcome);
  unlink(log.c_str());
  return outcome;
}

// Returns "FILE:LINE" of the subject's line with this mark.
std::string line_of(const std::string& mark) {
  std::ifstream file(TERRACE_SUBJECT_SOURCE);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with("// LINE " + mark)) return "subject.cpp:" + std::to_string(number);
  }
  return "no line " + mark;
}

TEST(Interposition, Allocation_ThroughWrappers_IsNamedByFirstNonAllocatorFrame) {
  const auto outcome = run("names");
  ASSERT_EQ(outcome.status, 0);
  const std::map<std::string, unsigned long long> sizes{
      {"direct", 102400}, {"wrapped", 200704}, {"vector", 401408}, {"array", 241664},
      {"zeroed", 303104}, {"aligned", 65536},  {"resized", 73728}};
  for (const auto& [mark, size] : sizes) {
    const auto* const object = outcome.object("names " + line_of(mark));
    ASSERT_NE(object, nullptr) << mark << " at " << line_of(mark);
    EXPECT_EQ(object->size, size) << mark;
    EXPECT_EQ(object->kind, 0);
    EXPECT_FALSE(object->live) << mark << " was freed";
  }
}

TEST(Interposition, Allocation_WithoutSymbolFile_IsNamedByBuildIdAndOffset) {
  const auto outcome = run("names", "TERRACE_TEST_SYMBOLS=");
  const auto named = std::ranges::count_if(outcome.objects, [](const Object& object) {
    return std::regex_match(object.name, std::regex("[0-9a-f]{8}\\+0x[0-9a-f]+"));
  });
  EXPECT_GE(named, 7);
}

TEST(Interposition, StaticVariable_OfAPage_IsAnObject) {
  const auto outcome = run("small");
  const auto* const table = outcome.object("big_table");
  const auto* const velocity = outcome.object("field::velocity");
  ASSERT_NE(table, nullptr);
  ASSERT_NE(velocity, nullptr);
  // 40,000 and 36,000 bytes; the first and last page may belong to neighbours.
  EXPECT_GE(table->size, 40000 / 4096 * 4096ULL - 4096);
  EXPECT_LE(table->size, (40000 / 4096 + 2) * 4096ULL);
  EXPECT_LE(velocity->size, (36000 / 4096 + 2) * 4096ULL);
  EXPECT_EQ(table->kind, 2);
}

TEST(Interposition, SmallBlocks_AnyNumber_AreOneObject) {
  const auto outcome = run("small");
  EXPECT_EQ(std::ranges::count_if(outcome.objects, [](const Object& object) { return object.kind == 0; }), 0)
      << "no block is big enough for an object of its own";
  const auto* const blocks = outcome.object("(small blocks)");
  ASSERT_NE(blocks, nullptr);
  EXPECT_EQ(blocks->kind, 5);
  ASSERT_NE(outcome.object("(stack)"), nullptr);
}

TEST(Interposition, AllocatorFunctions_AllCalls_MeetTheirSpecification) {
  const auto with = run("family");
  const auto without = run("family", "", false);
  EXPECT_EQ(with.status, 0);
  EXPECT_EQ(with.output, without.output) << "nothing differs from the C library's own";
  EXPECT_NE(with.output.find("refused 1\nerrno kept 1\n1 0 1\n1\ncalloc zero\n"), std::string::npos)
      << with.output;
  for (const auto& object : with.objects) EXPECT_FALSE(object.live && object.kind == 0) << object.name;
}

TEST(Interposition, Mapping_TrimmedMovedUnmapped_IsTracked) {
  const auto outcome = run("mappings");
  ASSERT_EQ(outcome.status, 0);
  std::vector<unsigned long long> pages;
  for (const auto& object : outcome.objects)
    if (object.kind == 1 && object.name.starts_with("mappings")) {
      pages.push_back(object.size / 4096);
      EXPECT_FALSE(object.live);
    }
  // Pages: 64; 56 after trimming the first 8; 8 and 40 after unmapping 8 in the middle; the 40 grow to 200
  // elsewhere.
  EXPECT_EQ(pages, (std::vector<unsigned long long>{64, 56, 8, 40, 200}));
}

TEST(Interposition, CApi_WithSession_ReachesTheRuntime) {
  const auto outcome = run("api");
  EXPECT_EQ(outcome.output,
            "active 1\nwhere everywhere\nobject 0\nforget 0\nagain 1\nsmall 4 1\nnull 1 1\nhints 0 0 0\nwrong 1 "
            "1\nunimem 0\nseconds 1\n");
  for (const char* event : {"loop_begin main", "phase one", "phase two", "loop_end", "loop_begin unimem",
                            "hint 0 n  2.000000", "hint 1 mine 2*n 0.000000", "hint 3 one mine 0.000000"})
    EXPECT_TRUE(outcome.told(event)) << event;
  ASSERT_NE(outcome.object("mine"), nullptr);
  EXPECT_EQ(outcome.object("mine")->size, 102400U);
  EXPECT_FALSE(outcome.object("mine")->live);
  ASSERT_NE(outcome.object("theirs"), nullptr);
  ASSERT_NE(outcome.object("table"), nullptr);
  EXPECT_FALSE(outcome.object("table")->live);
}

TEST(Interposition, CApi_WithoutSession_IsHarmless) {
  const auto outcome = run("api", "", false);
  EXPECT_EQ(outcome.output,
            "active 0\nwhere unknown\nobject 3\nforget 3\nagain 3\nsmall 3 1\nnull 1 1\nhints 3 3 3\nwrong 3 "
            "1\nunimem -1\nseconds 1\n");
  EXPECT_TRUE(outcome.lines.empty());
}

TEST(Interposition, Library_SwitchedOff_HasNoEffect) {
  const auto outcome = run("api", "TERRACE=off");
  EXPECT_TRUE(outcome.output.starts_with("active 0\n"));
  EXPECT_TRUE(outcome.lines.empty());
}

TEST(Interposition, Thread_StartedAndEnded_HasNumberAndStackObject) {
  const auto outcome = run("threads");
  ASSERT_EQ(outcome.status, 0);
  for (const char* event : {"attached 0", "attached 1", "attached 2", "attached 3", "detached 1", "detached 3"})
    EXPECT_EQ(outcome.count(event), 1) << event;
  long stacks = 0;
  for (const auto& object : outcome.objects)
    if (object.name == "(thread stack)") {
      ++stacks;
      EXPECT_FALSE(object.live);
    }
  EXPECT_EQ(stacks, 3);
}

TEST(Interposition, Clocks_Simulated_ShowVirtualTime) {
  // The recording runtime's clock advances by a millisecond per reading.
  const auto outcome = run("clocks", "TERRACE_TEST_SIMULATED=1");
  EXPECT_EQ(outcome.output,
            "monotonic 0.001000000\nrealtime 1000000000.002000000\nday 1000000000.003000\ntime 1000000000\n"
            "clock 5000\nusage 0.006000\n");
  EXPECT_TRUE(outcome.told("charged 2000us")) << "what is slept passes in virtual time";
}

TEST(Interposition, Clocks_NotSimulated_AreTheSystems) {
  const auto outcome = run("clocks");
  EXPECT_EQ(outcome.output.find("realtime 1000000000."), std::string::npos) << "that was in 2001";
  EXPECT_FALSE(outcome.told("charged 2000us"));
}

TEST(Interposition, Stack_AnyEnvironment_HasTheSameLowAddressBits) {
  const auto first = run("stack");
  for (const int length : {1, 17, 300, 4000})
    EXPECT_EQ(run("stack", "PADDING=" + std::string(static_cast<std::size_t>(length), 'x')).output, first.output);
}

struct ExitCase {
  const char* how;
  int status;
  const char* finish;  // nullptr: nothing is said
};

class ProcessExit : public ::testing::TestWithParam<ExitCase> {};

TEST_P(ProcessExit, Exit_ByAnyWay_IsRecordedOnce) {
  const auto [how, status, finish] = GetParam();
  const auto outcome = run(how);
  EXPECT_EQ(outcome.status, status);
  EXPECT_TRUE(outcome.output.starts_with("ending\n"));
  for (const std::string one : {"quick", "exec"})
    EXPECT_EQ(outcome.count("finish " + one), finish && one == finish ? 1 : 0) << one;
  // Every started program exits by itself, except this one if it ends in another way.
  const auto starts =
      std::ranges::count_if(outcome.lines, [](const std::string& line) { return line.starts_with("start "); });
  EXPECT_EQ(outcome.count("finish exit"), finish && std::string(finish) == "exit" ? starts : starts - 1);
}

INSTANTIATE_TEST_SUITE_P(All, ProcessExit,
                         ::testing::Values(ExitCase{"exit", 3, "exit"}, ExitCase{"_exit", 3, "quick"},
                                           ExitCase{"quick_exit", 3, "quick"}, ExitCase{"abort", 134, nullptr},
                                           ExitCase{"exec", 0, "exec"}, ExitCase{"execl", 0, "exec"},
                                           ExitCase{"noexec", 6, "exit"}, ExitCase{"vfork", 5, "exit"},
                                           ExitCase{"fork", 4, "exit"}, ExitCase{"spawn", 0, "exit"}),
                         [](const auto& instance) { return std::string(instance.param.how); });

TEST(Interposition, Exec_WithAnyEnvironment_KeepsTerrace) {
  for (const char* how : {"exec", "execl", "spawn"}) {
    const auto outcome = run(how);
    const auto starts =
        std::ranges::count_if(outcome.lines, [](const std::string& line) { return line.starts_with("start "); });
    EXPECT_EQ(starts, 2) << how << ", with an empty environment";
  }
}

TEST(Interposition, ForkedChild_WithSession_ReportsNothing) {
  const auto outcome = run("fork");
  EXPECT_EQ(outcome.count("finish exit"), 1) << "the parent's";
}

}  // namespace
}  // namespace terrace
