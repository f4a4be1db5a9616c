// SPDX-License-Identifier: Apache-2.0
// Derives the main loop and its phases from nested regions that a program annotates for tools: a Kokkos kernel, an
// NVTX range, an OpenMP parallel region, a Caliper annotation. The agent's region adapters feed it, and its
// monitor of function entries, with calls as regions. Regions do not say which of them form a loop; the runtime
// needs a loop, and a sequence of phases in each of its iterations.
//
// A region is identified by its path: its name within the enclosing regions. In each visit of a region, its child
// regions that end form a sequence; those that take less than `least` on average are omitted. When a sequence ends
// with a square (the same word twice, in the terms of combinatorics on words), its second half is removed: a loop
// has made two iterations. That word becomes the main loop
//   - if there is none, or if neither the word's region nor any enclosing region is a part of the main loop;
//   - if the main loop is a part of it.
// Other words are inner loops. An iteration begins with the word's first name that occurs once in it, preferably
// one in no inner loop. The phases of an iteration are the regions of the word, and the children of those that are
// split. A region is split if it takes a quarter of the iteration or more, and its children take a quarter of its
// time or more and are several (or one that is itself split). Successive regions of one inner loop are one phase,
// with the name of the first. A repeated name in an iteration gets a number: "exchange (2)".
//
// The loop ends with the visit in which it was detected, or when another one is selected. Not thread-safe: one
// thread calls it. The result depends on the reported times alone, so the same regions give the same phases.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "runtime/phase_source.hpp"

namespace terrace::runtime {

class RegionPhases {
 public:
  using Name = std::uint32_t;
  using BoundaryCallback = std::function<void(const PhaseBoundary&)>;
  using Now = std::function<Seconds()>;

  static constexpr Seconds k_min{1e-4};
  static constexpr std::size_t k_max_depth = 64;          // of nested regions; deeper ones are ignored
  static constexpr std::size_t k_max_paths = 1 << 14;     // distinct paths, and distinct names
  static constexpr std::size_t k_max_sequence = 4096;     // of a visit; longer ones lose their beginning
  static constexpr std::uint64_t k_visits_to_judge = 64;  // after so many visits far below `least` timing stops

  // `now` is called when a region begins and when it ends.
  RegionPhases(Now now, BoundaryCallback on_boundary, Seconds least = k_min);

  static constexpr Name k_no_name = ~Name{0};  // of ignored regions, once there are too many names

  // Returns the number of a name. `kind`: what regions of its sort are called ("Kokkos kernels"); borrowed,
  // outlives this object.
  Name intern_name(const char* kind, std::string_view text);
  void begin(std::uint64_t key, Name name);
  // Ends the innermost open region with that key and all regions nested in it.
  void end(std::uint64_t key);

  [[nodiscard]] bool in_loop() const { return loop_begun_; }
  // Returns the kinds of regions that are phases of the main loop: "Kokkos kernels, OpenMP parallel regions".
  [[nodiscard]] std::string kinds() const;

 private:
  using Index = std::uint32_t;
  using Word = std::vector<Index>;
  static constexpr Index k_root = 0;
  static constexpr Index k_ignored = ~Index{0};
  static constexpr std::uint32_t k_not_repeated = ~std::uint32_t{0};

  struct Path {
    Index parent = k_root;
    Name name = 0;
    std::uint64_t visits = 0;
    Seconds total;
    bool is_short = false;                       // too short to be timed any more
    std::vector<Word> squares;                   // words that occurred twice in succession in a visit
    std::uint32_t loop = 0;                      // number of the main loop in which it is a phase; 0: none
    std::uint32_t repeated_in = k_not_repeated;  // index of its inner loop: the longest of its parent's squares
    std::unordered_map<Name, Index> children;
  };
  struct Visit {
    Index path = k_root;
    std::uint64_t key = 0;
    Seconds begun;
    Word sequence;  // of children that have ended
  };
  struct KnownName {
    const char* kind;
    std::string text;
  };

  [[nodiscard]] bool is_long_enough(Index path) const;
  Index child_path(Index of, Name name);
  void close_innermost();
  void append_to_sequence(std::size_t depth, Index path);
  void on_repetition(std::size_t depth, Word word);
  [[nodiscard]] bool is_part_of_loop(std::size_t depth, const Word& word) const;
  void add_square(Index of, const Word& word);
  void select_loop(std::size_t depth, Word word);
  void end_loop();
  void mark_repeated(Index of, const Word* whole);
  void mark_repeated_below(Index of);
  [[nodiscard]] Index choose_head() const;
  [[nodiscard]] bool is_split(Index path, Seconds iterations) const;
  void mark_phases(Index path, Seconds iterations);
  void begin_phase(Index path);
  [[nodiscard]] std::string loop_name() const;

  Now now_;
  BoundaryCallback on_boundary_;
  Seconds least_;
  std::vector<KnownName> names_;
  std::map<std::string, Name, std::less<>> numbers_;  // by kind and text
  std::vector<Path> paths_;
  std::vector<Visit> open_;  // the root first; entries from depth_ on are unused and keep their buffers
  std::size_t depth_ = 1;
  std::vector<std::uint64_t> ignored_keys_;  // of open regions inside of an ignored one

  bool has_loop_ = false;
  bool loop_begun_ = false;     // reported to the runtime, with the first iteration after the detection
  std::uint32_t loop_ = 0;      // number of the main loop
  std::size_t loop_depth_ = 0;  // depth of the visit whose sequence has the loop
  Word word_;
  Index head_ = k_root;
  // State of the current iteration:
  std::map<std::string, std::uint32_t, std::less<>> used_;  // names of phases
  Index repeating_in_ = k_root;                             // the inner loop that is the current phase
  std::uint32_t repeating_ = k_not_repeated;
};

}  // namespace terrace::runtime
