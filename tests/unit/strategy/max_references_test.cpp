// Compares the initial placement by reference counts with all possible placements.
#include "strategy/hints/max_references.hpp"

#include <gtest/gtest.h>

#include <random>

namespace terrace::strategy {
namespace {

// Returns the time that references save compared with the slowest place; -1 if an option is overfull.
double saved(const std::vector<CountedChunk>& chunks, const std::vector<PlaceOption>& options,
             const std::vector<std::uint32_t>& shelf_of) {
  std::vector<std::uint64_t> held(options.size(), 0);
  double slowest = 0, sum = 0;
  for (const auto& option : options) slowest = std::max(slowest, option.line_time);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    held[shelf_of[c]] += chunks[c].size.value;
    sum += chunks[c].references * (slowest - options[shelf_of[c]].line_time);
  }
  for (std::size_t s = 0; s < options.size(); ++s)
    if (held[s] > options[s].capacity.value) return -1;
  return sum;
}

double best_of_all(const std::vector<CountedChunk>& chunks, const std::vector<PlaceOption>& options) {
  std::vector<std::uint32_t> shelf_of(chunks.size(), 0);
  double best = -1;
  for (;;) {
    best = std::max(best, saved(chunks, options, shelf_of));
    std::size_t c = 0;
    while (c < chunks.size() && ++shelf_of[c] == options.size()) shelf_of[c++] = 0;
    if (c == chunks.size()) return best;
  }
}

TEST(MaxReferences, RandomChunks_EqualsBruteForce) {
  std::mt19937 random(3);
  int contended = 0;
  for (int n = 0; n < 300; ++n) {
    std::vector<CountedChunk> chunks(1 + random() % 7);
    std::uint64_t total = 0;
    for (auto& chunk : chunks) {
      chunk = {Bytes{4096 * (1 + random() % 9)}, static_cast<double>(random() % 1000)};
      total += chunk.size.value;
    }
    // Two or three places, the last one home.
    std::vector<PlaceOption> options;
    for (std::size_t s = 0; s + 1 < 2 + random() % 2; ++s)
      options.push_back({Bytes{random() % (total + 1)}, 1e-9 * static_cast<double>(1 + random() % 5)});
    if (options.empty()) options.push_back({Bytes{total / 2}, 1e-9});
    options.push_back({Bytes{total}, 8e-9});
    const auto home = static_cast<std::uint32_t>(options.size() - 1);
    const auto found = saved(chunks, options, max_references(chunks, options, home));
    const auto best = best_of_all(chunks, options);
    EXPECT_NEAR(found, best, 1e-12 * best) << "case " << n;
    contended += found < saved(chunks, {{Bytes{total}, options[0].line_time}, {Bytes{total}, 8e-9}},
                               std::vector<std::uint32_t>(chunks.size(), 0))
                     ? 1
                     : 0;
  }
  EXPECT_GT(contended, 100) << "there was room for everything";
}

TEST(MaxReferences, SmallDenseChunk_SumDecides) {
  // The small chunk is denser, the large one has more references, and only one of them fits.
  const std::vector<CountedChunk> chunks = {{Bytes{4096}, 500}, {Bytes{8192}, 800}};
  EXPECT_EQ(max_references(chunks, {{Bytes{8192}, 1e-9}, {Bytes{1 << 20}, 4e-9}}, 1),
            (std::vector<std::uint32_t>{1, 0}));
}

TEST(MaxReferences, NoReferences_StaysAtHome) {
  EXPECT_EQ(
      max_references({{Bytes{4096}, 0}, {Bytes{4096}, 1}}, {{Bytes{1 << 20}, 1e-9}, {Bytes{1 << 20}, 4e-9}}, 1),
      (std::vector<std::uint32_t>{1, 0}));
}

}  // namespace
}  // namespace terrace::strategy
