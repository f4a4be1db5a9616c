// Tests loops and phases derived from nested regions, of random programs and random streams, against an offline
// evaluation of the whole stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "region_recorder.hpp"
#include "runtime/regions/region_phases.hpp"

namespace terrace::runtime {
namespace {

// --- random programs -------------------------------------------------------------------------------------------

// A part of a program: a region with parts in it, or parts that are repeated.
struct Piece {
  std::string name;  // empty: a repetition
  std::vector<Piece> parts;
  int least = 1, most = 1;  // iterations of a repetition
};

class Programs {
 public:
  explicit Programs(unsigned seed) : random_(seed) {}
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Names are unique, so that only a repetition repeats them.
  Piece leaf() { return {"r" + std::to_string(next_++), {}, 1, 1}; }
  Piece turn(int depth) {
    Piece step{"r" + std::to_string(next_++), {}, 1, 1};
    const int parts = number(2, 4);
    for (int i = 0; i < parts; ++i) {
      if (depth == 0 || number(0, 2) == 0) {
        step.parts.push_back(leaf());
      } else {
        Piece inner{"", {}, 2, number(2, 6)};
        const int count = number(1, 3);
        for (int k = 0; k < count; ++k) inner.parts.push_back(leaf());
        step.parts.push_back(leaf());  // inner loops are not adjacent
        step.parts.push_back(inner);
        step.parts.push_back(leaf());
      }
    }
    return step;
  }
  void run(const Piece& piece, Regions& to) {
    if (!piece.name.empty()) {
      to.open(piece.name);
      if (piece.parts.empty()) to.work(1e-3);
    }
    const int turns = piece.name.empty() ? number(piece.least, piece.most) : 1;
    for (int i = 0; i < turns; ++i)
      for (const auto& part : piece.parts) run(part, to);
    if (!piece.name.empty()) to.close();
  }

 private:
  std::mt19937 random_;
  int next_ = 0;
};

// Returns the expected phases of an iteration: its parts in order, an inner loop as its first region.
Texts phases_of(const Piece& step) {
  Texts phases{step.name};
  for (const auto& part : step.parts) phases.push_back(part.name.empty() ? part.parts.front().name : part.name);
  return phases;
}

TEST(RegionPhases, RandomPrograms_LoopIsDetected) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Programs programs(seed);
    Regions run;
    const int before = programs.number(0, 5);
    for (int i = 0; i < before; ++i) programs.run(programs.leaf(), run);
    const bool is_in_one = programs.number(0, 1) == 1;
    if (is_in_one) run.open("around");
    const auto step = programs.turn(1);
    const auto expected = phases_of(step);
    for (int i = 0; i < 2; ++i) programs.run(step, run);
    run.take();  // discard inner loops that were selected meanwhile
    programs.run(step, run);
    auto first = run.take();
    ASSERT_FALSE(first.empty());
    if (first.front() == "-") first.erase(first.begin());
    ASSERT_EQ(first.front(), "+" + step.name);
    first.erase(first.begin());
    EXPECT_EQ(first, expected);
    for (int i = 0; i < 4; ++i) {
      programs.run(step, run);
      EXPECT_EQ(run.take(), expected);
    }
    if (!is_in_one) continue;
    run.close();
    EXPECT_EQ(run.take(), Texts{"-"});
  }
}

// --- random streams --------------------------------------------------------------------------------------------

// Reduces a visit's sequence by the definition: while there is a square, the one that ends first is removed, of
// several the shortest.
Texts reduced(Texts sequence, std::vector<Texts>& words) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t end = 2; end <= sequence.size() && !changed; ++end)
      for (std::size_t length = 1; 2 * length <= end && !changed; ++length) {
        const auto at = [&](std::size_t from) { return sequence.begin() + static_cast<std::ptrdiff_t>(from); };
        if (!std::equal(at(end - length), at(end), at(end - 2 * length))) continue;
        words.emplace_back(at(end - length), at(end));
        sequence.erase(at(end - length), at(end));
        changed = true;
      }
  }
  return sequence;
}

bool is_within(const Texts& part, const Texts& whole) {
  if (part.size() > whole.size()) return false;
  auto twice = whole;
  twice.insert(twice.end(), whole.begin(), whole.end());
  return std::search(twice.begin(), twice.end(), part.begin(), part.end()) != twice.end();
}

// Returns the main loop of a stream without nesting, from the whole stream: each square replaces the last one
// unless it is a part of it; a word all of whose names occur several times is none. Also returns whether it has
// inner loops.
struct Main {
  Texts word;
  bool has_inner = false;
};

Main main_of(const Texts& stream) {
  std::vector<Texts> words;
  reduced(stream, words);
  Texts main;
  for (const auto& word : words) {
    if (!main.empty() && is_within(word, main)) continue;
    const bool has_one = std::any_of(word.begin(), word.end(), [&](const std::string& name) {
      return std::count(word.begin(), word.end(), name) == 1;
    });
    main = has_one ? word : Texts{};
  }
  const bool has_inner = std::any_of(words.begin(), words.end(), [&](const Texts& word) {
    return word.size() < main.size() && is_within(word, main);
  });
  return {main, has_inner};
}

TEST(RegionPhases, RandomStreams_AgreeWithTheDefinition) {
  int loops = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Programs programs(seed);
    Regions run;
    Texts stream;
    const int names = programs.number(1, 4);
    Main before;
    bool has_begun = false;
    for (int i = 0; i < 40; ++i) {
      const std::string name(1, static_cast<char>('a' + programs.number(0, names - 1)));
      stream.push_back(name);
      run.open(name);
      const auto at_begin = run.take();
      run.work(1e-3);
      run.close();
      const auto at_end = run.take();
      const auto after = main_of(stream);

      // Expected at the region's begin: in a loop without inner loops its first name in each iteration, then all
      // of it.
      const auto unique = std::find_if(before.word.begin(), before.word.end(), [&](const std::string& one) {
        return std::count(before.word.begin(), before.word.end(), one) == 1;
      });
      const bool is_head = unique != before.word.end() && *unique == name;
      const bool is_in = std::find(before.word.begin(), before.word.end(), name) != before.word.end();
      if (!is_in) {
        EXPECT_EQ(at_begin, Texts{});
      }
      if (!before.has_inner && is_in) {
        EXPECT_EQ(!at_begin.empty(), has_begun || is_head);
        if (is_head) {
          EXPECT_EQ(at_begin.back(), name);
        }
        if (!at_begin.empty()) {
          EXPECT_EQ(at_begin.front().front() == '+', !has_begun);
        }
      }
      has_begun = has_begun || !at_begin.empty();
      // Expected at the region's end: another loop, or none.
      if (after.word == before.word) {
        EXPECT_EQ(at_end, Texts{});
      } else {
        EXPECT_EQ(at_end, has_begun ? Texts{"-"} : Texts{});
        has_begun = false;
        ++loops;
      }
      before = after;
    }
  }
  EXPECT_GT(loops, 1000);
}

// For any stream, loops begin and end alternately, phases are within loops, and the first phase of a loop occurs
// once per iteration.
TEST(RegionPhases, AnyStream_GivesLoopsAndPhasesInOrder) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Programs programs(seed);
    Regions run;
    int depth = 0;
    for (int i = 0; i < 400; ++i) {
      if (depth > 0 && programs.number(0, 1) == 0) {
        run.close();
        --depth;
      } else {
        run.open(std::string(1, static_cast<char>('a' + programs.number(0, 2))));
        ++depth;
      }
      run.work(programs.number(0, 3) * 1e-4);
    }
    bool in_loop = false;
    std::set<std::string> turn;
    std::string first;
    for (const auto& text : run.take()) {
      if (text == "-") {
        EXPECT_TRUE(in_loop);
        in_loop = false;
      } else if (text.front() == '+') {
        EXPECT_FALSE(in_loop);
        in_loop = true;
        first.clear();
        turn.clear();
      } else {
        EXPECT_TRUE(in_loop);
        if (first.empty()) first = text;
        if (text == first) turn.clear();
        EXPECT_TRUE(turn.insert(text).second) << text << " twice in a turn";
      }
    }
  }
}

}  // namespace
}  // namespace terrace::runtime
