// Blocks of a heap that a test holds, each full of a byte of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace terrace::agent {

struct Held {
  unsigned char* block;
  std::size_t size;
  unsigned char mark;
};

// Every byte, so that a block that reaches into another one is found.
inline void fill(const Held& held) { std::memset(held.block, held.mark, held.size); }
inline bool intact(const Held& held) {
  return std::all_of(held.block, held.block + held.size, [&](unsigned char byte) { return byte == held.mark; });
}

// A random history of a heap: `wants` says whether the next step allocates, of so many blocks that are held;
// `allocate` makes a block, its mark apart; `release` takes an address.
template <class Wants, class Allocate, class Release>
void churn_blocks(std::mt19937& random, int steps, Wants&& wants, Allocate&& allocate, Release&& release) {
  std::vector<Held> held;
  for (int step = 0; step < steps; ++step) {
    if (wants(held.size())) {
      Held made = allocate();
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
