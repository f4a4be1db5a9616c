// Tests that each piece of a synthetic initial stack has a slot that is independent of the other pieces' lengths.
#include "agent/lifecycle/initial_stack.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

namespace terrace::agent {
namespace {

// A stack as the kernel lays it out: vectors, followed by the strings.
class Stack {
 public:
  Stack(const std::vector<std::string>& arguments, const std::vector<std::string>& variables)
      : count_(static_cast<int>(arguments.size())) {
    std::vector<std::size_t> offsets;
    for (const auto* list : {&arguments, &variables})
      for (const auto& text : *list) {
        offsets.push_back(strings_.size());
        strings_.append(text).push_back('\0');
      }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (i == arguments.size()) words_.push_back(nullptr);
      words_.push_back(strings_.data() + offsets[i]);
    }
    if (variables.empty()) words_.push_back(nullptr);
    words_.push_back(nullptr);
  }
  // Returns the slots of the strings, and of the two vectors ("arguments", "variables").
  [[nodiscard]] std::map<std::string, std::uint64_t> places() const {
    std::map<std::string, std::uint64_t> result;
    for (const auto& piece : lay_out_stack(count_, words_.data())) {
      const auto* const at = reinterpret_cast<const char*>(piece.low);  // NOLINT(performance-no-int-to-ptr)
      std::string name = piece.low == reinterpret_cast<std::uint64_t>(words_.data()) ? "arguments" : "variables";
      if (at >= strings_.data() && at < strings_.data() + strings_.size()) {
        name = at;
        EXPECT_EQ(piece.high - piece.low, name.size() + 1);
      }
      EXPECT_TRUE(result.emplace(name, piece.place).second) << name;
    }
    return result;
  }

 private:
  int count_;
  std::string strings_;
  std::vector<const char*> words_;
};

TEST(InitialStack, Layout_OtherWordsChange_KeepsTheSlot) {
  const std::vector<std::string> arguments{"./mg", "--class", "S", std::string(100, 'y'), "40"};
  const auto few = Stack(arguments, {"HOME=/root", "TERM=dumb"}).places();
  EXPECT_EQ(few.size(), 2 + 5 + 2U);
  for (const std::size_t size : {1, 17, 3349, 100000}) {
    auto more = Stack(arguments, {"A=" + std::string(size, 'x'), "TERM=dumb", "B=", "HOME=/root"}).places();
    EXPECT_EQ(more.erase("A=" + std::string(size, 'x')), 1U);
    EXPECT_EQ(more.erase("B="), 1U);
    EXPECT_EQ(more, few);
  }
}

TEST(InitialStack, Layout_EveryWord_StartsInItsOwnCacheLine) {
  const auto places = Stack({"./mg", std::string(64, 'y'), "z"}, {"HOME=/root"}).places();
  for (const auto& [name, place] : places) EXPECT_EQ(place % 64, 0U) << name;
  EXPECT_EQ(places.at(std::string(64, 'y')) - places.at("./mg"), 64U);
  EXPECT_EQ(places.at("z") - places.at("./mg"), 192U);
}

TEST(InitialStack, Layout_EmptyAndTooLongWords_AreKeptAndOmitted) {
  EXPECT_EQ(Stack({}, {}).places().size(), 2U);
  EXPECT_EQ(Stack({"./mg", std::string(k_stack_slot, 'y')}, {}).places().size(), 3U);
}

}  // namespace
}  // namespace terrace::agent
