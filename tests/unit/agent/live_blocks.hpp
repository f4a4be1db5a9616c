// Live blocks of a heap under test, each filled with a byte of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace terrace::agent {

struct LiveBlock {
  unsigned char* block;
  std::size_t size;
  unsigned char mark;
};

// Fill and check every byte, so that overlapping blocks are found.
inline void fill(const LiveBlock& held) { std::memset(held.block, held.mark, held.size); }
inline bool intact(const LiveBlock& held) {
  return std::all_of(held.block, held.block + held.size, [&](unsigned char byte) { return byte == held.mark; });
}

// Runs a random history of a heap. `wants(count)` returns whether the next step allocates; `allocate` makes a
// block, except for its mark; `release` takes an address.
template <class Wants, class Allocate, class Release>
void churn_blocks(std::mt19937& random, int steps, Wants&& wants, Allocate&& allocate, Release&& release) {
  std::vector<LiveBlock> held;
  for (int step = 0; step < steps; ++step) {
    if (wants(held.size())) {
      LiveBlock made = allocate();
      ASSERT_NE(made.block, nullptr);
      made.mark = static_cast<unsigned char>(random());
      held.push_back(made);
      fill(made);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      ASSERT_TRUE(intact(held.back())) << "block of " << held.back().size;
      release(held.back().block);
      held.pop_back();
    }
  }
  for (const auto& one : held) {
    ASSERT_TRUE(intact(one));
    release(one.block);
  }
}

}  // namespace terrace::agent
