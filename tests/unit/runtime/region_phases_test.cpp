// Loops and phases out of nested regions: programs of which it is known what they do again and again, and random
// ones, whose regions are written down as they come and looked at as a whole.
#include "runtime/regions/region_phases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace terrace::runtime {
namespace {

// Regions that take a time each, and what comes out: "+name" a loop begins, "-" it ends, else a phase.
class Regions {
 public:
  explicit Regions(Seconds least = RegionPhases::k_least)
      : phases_([this] { return Seconds{now_}; }, [this](const Boundary& boundary) { hear(boundary); }, least) {}

  void open(const std::string& name) {
    names_.push_back(name);
    phases_.begin(++key_, phases_.name("regions", name));
    keys_.push_back(key_);
  }
  void close() {
    phases_.end(keys_.back());
    keys_.pop_back();
    names_.pop_back();
  }
  void close_outer(std::size_t levels) {
    phases_.end(keys_[keys_.size() - 1 - levels]);
    keys_.resize(keys_.size() - 1 - levels);
  }
  void work(double seconds) { now_ += seconds; }
  void region(const std::string& name, double seconds = 1e-3) {
    open(name);
    work(seconds);
    close();
  }
  void regions(const std::vector<std::string>& names) {
    for (const auto& name : names) region(name);
  }
  std::vector<std::string> take() { return std::exchange(heard_, {}); }
  [[nodiscard]] bool in_loop() const { return phases_.in_loop(); }
  [[nodiscard]] std::string kinds() const { return phases_.kinds(); }

 private:
  void hear(const Boundary& boundary) {
    if (boundary.ends_loop) heard_.emplace_back("-");
    if (!boundary.begins_loop.empty()) heard_.push_back("+" + boundary.begins_loop);
    if (!boundary.phase.empty()) heard_.push_back(boundary.phase);
  }
  double now_ = 0;
  std::uint64_t key_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::string> names_;
  std::vector<std::string> heard_;
  RegionPhases phases_;
};

using Texts = std::vector<std::string>;

TEST(RegionPhases, KernelsThatFollowOneAnotherAreTheTurnsOfALoop) {
  Regions run;
  run.regions({"read", "set up"});
  run.regions({"a", "b", "c", "a", "b", "c"});
  EXPECT_EQ(run.take(), Texts{});
  run.regions({"a", "b", "c", "a"});
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b", "c", "a"}));
}

TEST(RegionPhases, ARegionThatComesAgainAndAgainIsTheLoopAndItsPartsArePhases) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.open("step");
    run.regions({"force", "move"});
    run.close();
  }
  EXPECT_EQ(run.take(), (Texts{"+step", "step", "force", "move"}));
}

TEST(RegionPhases, ARegionAroundTheLoopNamesItAndEndsIt) {
  Regions run;
  run.region("init");
  run.open("main");
  for (int step = 0; step < 3; ++step) run.regions({"force", "move"});
  run.close();
  run.region("output");
  EXPECT_EQ(run.take(), (Texts{"+main", "force", "move", "-"}));
  EXPECT_FALSE(run.in_loop());
}

TEST(RegionPhases, InnerLoopsOfAnyLengthAreOnePhase) {
  Regions run;
  const std::vector<int> turns{2, 5, 3, 7, 4};
  for (const int count : turns) {
    run.open("step");
    run.region("assemble");
    for (int i = 0; i < count; ++i) run.regions({"product", "dot"});
    run.region("update");
    run.close();
    if (count == 5) run.take();
  }
  const Texts turn{"step", "assemble", "product", "update"};
  Texts expected{"+step"};
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), turn.begin(), turn.end());
  EXPECT_EQ(run.take(), expected);
}

TEST(RegionPhases, ALoopAroundTakesOver) {
  Regions run;
  const auto turn = [&] {
    run.region("a");
    for (int i = 0; i < 4; ++i) run.regions({"b", "c"});
    run.region("d");
  };
  turn();
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "b", "c", "b", "c"}));
  turn();
  EXPECT_EQ(run.take().back(), "-");
  turn();
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b", "d"}));
  turn();
  EXPECT_EQ(run.take(), (Texts{"a", "b", "d"}));
}

TEST(RegionPhases, ALaterLoopTakesOver) {
  Regions run;
  run.regions({"zero", "zero", "zero"});
  EXPECT_EQ(run.take(), (Texts{"+zero", "zero"}));
  run.regions({"a", "b", "a", "b", "a"});
  EXPECT_EQ(run.take(), (Texts{"-", "+(regions)", "a"}));
}

TEST(RegionPhases, NamesOfATurnAreUnique) {
  Regions run;
  for (int step = 0; step < 3; ++step) run.regions({"exchange", "x", "exchange", "y"});
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "x", "exchange", "y"}));
  run.regions({"exchange", "x"});
  EXPECT_EQ(run.take(), (Texts{"exchange (2)", "x"}));
}

TEST(RegionPhases, ShortRegionsAreNone) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.region("a");
    run.region("tiny", 0.5e-4);
    run.region("b", 2e-4);
  }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b"}));
}

TEST(RegionPhases, OneRegionWithinAKernelAddsNothing) {
  Regions run;
  for (int step = 0; step < 3; ++step)
    for (const auto* name : {"first", "second"}) {
      run.open(name);
      run.region(std::string("parallel@") + name);
      run.close();
    }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "first", "second"}));
  EXPECT_EQ(run.kinds(), "regions");
}

TEST(RegionPhases, ARegionThatDoesMostByItselfIsOnePhase) {
  for (const double own : {2e-3, 8e-3}) {
    Regions run;
    for (int step = 0; step < 3; ++step) {
      run.open("step");
      run.work(own);
      run.regions({"a", "b"});
      run.close();
    }
    // Of 4 ms its parts take half, of 10 ms a fifth.
    EXPECT_EQ(run.take(), own < 5e-3 ? (Texts{"+step", "step", "a", "b"}) : (Texts{"+step", "step"}));
  }
}

TEST(RegionPhases, NamesWithoutEndAreNotKept) {
  Regions run;
  run.regions({"a", "b"});
  for (std::size_t i = 0; i < 2 * RegionPhases::k_most_paths; ++i) run.region("step " + std::to_string(i));
  EXPECT_EQ(run.take(), Texts{});
  // What has a name already is found still, and what is in the others is in none.
  for (int step = 0; step < 3; ++step) {
    run.region("a");
    run.open("another");
    run.region("b");
    run.close();
    run.region("b");
  }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b"}));
}

TEST(RegionPhases, ARegionEndsWithTheOneAroundIt) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.open("step");
    run.region("a");
    run.open("never ended");
    run.work(1e-3);
    run.close_outer(1);
  }
  EXPECT_EQ(run.take(), (Texts{"+step", "step", "a", "never ended"}));
}

TEST(RegionPhases, WhatEndsButNeverBeganIsNothing) {
  Regions run;
  RegionPhases phases([] { return Seconds{0}; }, [](const Boundary&) { FAIL(); });
  phases.end(7);
  phases.begin(1, phases.name("regions", "a"));
  phases.end(2);
  phases.end(1);
  phases.end(1);
  EXPECT_FALSE(phases.in_loop());
}

// --- random programs -------------------------------------------------------------------------------------------

// A piece of a program: one region, with pieces in it, or pieces that are done several times.
struct Piece {
  std::string name;  // empty: a repetition
  std::vector<Piece> parts;
  int least = 1, most = 1;  // turns of a repetition
};

class Programs {
 public:
  explicit Programs(unsigned seed) : random_(seed) {}
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Names are unique, so that what repeats does so because of a repetition.
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
        step.parts.push_back(leaf());  // inner loops do not touch
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

// What a turn must come out as: its parts in order, an inner loop as its first region.
Texts phases_of(const Piece& step) {
  Texts phases{step.name};
  for (const auto& part : step.parts) phases.push_back(part.name.empty() ? part.parts.front().name : part.name);
  return phases;
}

TEST(RegionPhases, FindsTheLoopOfRandomPrograms) {
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
    run.take();  // inner loops were taken meanwhile
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

// A visit's sequence by the definition: as long as there is one, the square that ends first is taken away, of
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

// The main loop of a stream without nesting, from the whole of it: each square in turn takes over unless it is a
// part of the one before; a word all of whose names come several times is none. And whether it has inner loops.
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

TEST(RegionPhases, AgreesWithTheDefinitionOnRandomStreams) {
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

      // What begins with the region: in a loop without inner ones its first name each turn, then all of it.
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
      // What its end brings: another loop, or none.
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

// Whatever comes: loops begin and end by turns, phases are within, and the first phase of a loop comes once a
// turn.
TEST(RegionPhases, AnyStreamGivesLoopsAndPhasesInOrder) {
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
