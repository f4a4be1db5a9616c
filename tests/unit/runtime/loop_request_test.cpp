// SPDX-License-Identifier: Apache-2.0
// Tests that requests for loops and their replies round-trip, and that other text parses without effect.
#include "runtime/session/loop_request.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace terrace::runtime {
namespace {

TEST(LoopRequest, Random_RoundTrips) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<CodePosition> positions(random() % 20);
    std::vector<EnclosingLoops> replies(positions.size());
    for (auto& one : positions) {
      one.address = random() >> (random() % 64);
      for (auto length = random() % 12; length > 0; --length)
        one.file += static_cast<char>(random() % 2 == 0 ? 'a' + random() % 26 : ' ' + random() % 8);
    }
    for (auto& loops : replies) {
      loops.resize(random() % 4);
      for (auto& one : loops)
        one = {random() >> (random() % 64), random() >> (random() % 64), random() % 99, random() % 2 == 0};
    }
    const auto read = parse_loop_request(format_loop_request(positions));
    ASSERT_EQ(read.size(), positions.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].address, positions[i].address);
      EXPECT_EQ(read[i].file, positions[i].file);
    }
    EXPECT_EQ(parse_loop_reply(format_loop_reply(replies)), replies);
  }
}

TEST(LoopRequest, FileWithLineBreak_IsOmitted) {
  const std::vector<CodePosition> positions{{"a\nb", 1}, {"c", 2}};
  const auto read = parse_loop_request(format_loop_request(positions));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].file, "");
  EXPECT_EQ(read[1].file, "c");
}

TEST(LoopRequest, OtherText_HasNoFilesAndNoLoops) {
  for (const auto* const text : {"x", "12", "12x\n", "-1 /a\n", "ffffffffffffffffff /a\n"})
    for (const auto& one : parse_loop_request(text)) EXPECT_EQ(one.file, "") << text;
  for (const auto* const text : {"x", "12", "12:", ":3", "1:2", "1:2:", "12;3", " 1:2:3"})
    for (const auto& one : parse_loop_reply(text)) EXPECT_TRUE(one.empty()) << text;
  EXPECT_EQ(parse_loop_reply("1:2:0 3\n").at(0).size(), 1U);
  EXPECT_TRUE(parse_loop_request("").empty());
}

}  // namespace
}  // namespace terrace::runtime
