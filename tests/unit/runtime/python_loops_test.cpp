// SPDX-License-Identifier: Apache-2.0
// Tests the loops and iterations that are derived from Python frames. The frames are recordings of real programs
// by each supported version of Python, and the programs counted their iterations themselves
// (record_python_programs.py).
#include "runtime/mpi/python_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace terrace::runtime {
namespace {

std::vector<std::uint8_t> parse_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  if (text == "-") return bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Reads the recorded programs of a version, and compares the iterations at each call.
class Recording {
 public:
  explicit Recording(const std::string& version)
      : file_(std::string(TERRACE_SOURCE_DIR) + "/tests/unit/runtime/data/python_programs_" + version + ".txt") {}

  void check() {
    ASSERT_TRUE(file_.is_open());
    for (std::string line; std::getline(file_, line);) {
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      if (kind == "version") words >> version_.major >> version_.minor;
      if (kind == "program") begin_program(words);
      if (kind == "code") add_code(words);
      if (kind == "call") check_call(words);
    }
    EXPECT_GT(num_programs_, 10U);
    EXPECT_GT(num_iterations_, 100U);
  }

 private:
  void begin_program(std::istringstream& words) {
    words >> program_;
    loops_ = {};
    lines_.clear();
    call_ = 0;
    ++num_programs_;
  }
  void add_code(std::istringstream& words) {
    std::string code, exceptions;
    words >> code >> exceptions;
    std::vector<int> lines;
    for (int line; words >> line;) lines.push_back(line);
    loops_.add(PythonCode(version_, parse_hex(code), parse_hex(exceptions),
                          [&](PythonOffset offset) { return lines.at(offset / 2); }));
    lines_.push_back(lines);
  }
  void check_call(std::istringstream& words) {
    std::string expected;
    words >> expected;
    std::vector<PythonFrame> frames;
    for (std::string word; words >> word;) {
      PythonFrame frame;
      unsigned long long activation = 0;
      ASSERT_EQ(std::sscanf(word.c_str(), "%llu:%u:%u", &activation, &frame.code, &frame.offset), 3);
      frame.activation = activation + 1;
      frames.push_back(frame);
    }
    const auto ended = loops_.advance(frames, 0);
    const auto line = ended ? std::to_string(line_of(*ended)) : "-";
    EXPECT_NE(("|" + expected + "|").find("|" + line + "|"), std::string::npos)
        << program_ << ", call " << call_ << ": line " << line << ", not " << expected;
    if (ended) {
      const auto around = loops_.loops_at(frames);
      EXPECT_NE(std::ranges::find(around, *ended), around.end()) << program_ << ", call " << call_;
      ++num_iterations_;
    }
    ++call_;
  }
  [[nodiscard]] int line_of(LoopHead head) const {
    const auto code = PythonLoops::code_of(head);
    return lines_.at(code).at(loops_.code(code).statement_of(PythonLoops::offset_of(head)) / 2);
  }

  std::ifstream file_;
  PythonVersion version_;
  std::string program_;
  PythonLoops loops_;
  std::vector<std::vector<int>> lines_;  // by code, by code unit
  std::size_t call_ = 0, num_programs_ = 0, num_iterations_ = 0;
};

TEST(PythonLoops, ProgramsOfPython39_EachCall_EndsTheIterationsThatTheProgramCounted) { Recording("3.9").check(); }
TEST(PythonLoops, ProgramsOfPython310_EachCall_EndsTheIterationsThatTheProgramCounted) {
  Recording("3.10").check();
}
TEST(PythonLoops, ProgramsOfPython311_EachCall_EndsTheIterationsThatTheProgramCounted) {
  Recording("3.11").check();
}
TEST(PythonLoops, ProgramsOfPython312_EachCall_EndsTheIterationsThatTheProgramCounted) {
  Recording("3.12").check();
}
TEST(PythonLoops, ProgramsOfPython313_EachCall_EndsTheIterationsThatTheProgramCounted) {
  Recording("3.13").check();
}

// for step in range(9): call()          of Python 3.11: FOR_ITER at 2, the call at 6, JUMP_BACKWARD at 8.
constexpr std::uint8_t k_loop[] = {151, 0, 93, 3, 1, 0, 171, 0, 140, 4, 83, 0};

PythonCode make_loop() {
  return {{3, 11}, k_loop, {}, [](PythonOffset) { return 1; }};
}

TEST(PythonLoops, LibraryCallsMpiTwice_SamePosition_IsOneIteration) {
  PythonLoops loops;
  const std::vector<PythonFrame> frames{{1, loops.add(make_loop()), 6}};
  std::size_t iterations = 0;
  for (int step = 0; step < 9; ++step)
    for (const CallPath native : {10, 11}) iterations += loops.advance(frames, native) ? 1 : 0;
  EXPECT_EQ(iterations, 8U);
}

TEST(PythonLoops, NewActivation_SamePosition_EndsNoIteration) {
  PythonLoops loops;
  const auto code = loops.add(make_loop());
  EXPECT_FALSE(loops.advance(std::vector<PythonFrame>{{1, code, 6}}, 0));
  EXPECT_FALSE(loops.advance(std::vector<PythonFrame>{{2, code, 6}}, 0));
  EXPECT_TRUE(loops.advance(std::vector<PythonFrame>{{2, code, 6}}, 0));
}

TEST(PythonCode, UnknownVersionOrMalformedCode_HasNoLoops) {
  EXPECT_FALSE(can_decode({3, 8}));
  EXPECT_FALSE(can_decode({2, 11}));
  EXPECT_FALSE(can_decode({3, 14}));
  const auto line = [](PythonOffset) { return 1; };
  EXPECT_TRUE(PythonCode({3, 14}, k_loop, {}, line).loops_at(6).empty());
  constexpr std::uint8_t k_beyond[] = {151, 0, 93, 30, 1, 0, 171, 0, 140, 4, 83, 0};
  EXPECT_TRUE(PythonCode({3, 11}, k_beyond, {}, line).loops_at(6).empty());
  constexpr std::uint8_t k_table[] = {0x80, 0x7f};
  EXPECT_TRUE(PythonCode({3, 11}, k_loop, k_table, line).loops_at(6).empty());
  EXPECT_EQ(make_loop().loops_at(6).size(), 1U);
  EXPECT_TRUE(make_loop().loops_at(10).empty());
  EXPECT_TRUE(make_loop().loops_at(4711).empty());
}

}  // namespace
}  // namespace terrace::runtime
