// Makes phases of a main loop out of regions: what a program says of itself to a tool (a Kokkos kernel, an NVTX
// range, an OpenMP parallel region, a Caliper annotation). Regions nest, are many, and say nothing of loops; the
// runtime wants a loop, and in each turn of it a sequence of phases.
//
// A region is known by its path: its name within the regions around it. Each time that a region is open (a visit),
// the regions in it that end make a sequence; those that take less than `least` on average are left out of it.
// When a sequence ends with the same word twice, the second is taken away: a loop has made two turns. That word is
// taken for the main loop
//   - when there is none, or when none of the regions around it, and it itself, is a part of the main loop;
//   - when the main loop is a part of it.
// Other words are inner loops. A turn begins with the word's first name that comes once in it, one that is in no
// inner loop where there is such. The phases of a turn are the regions of the word, and of those that are looked
// into their parts as well: a region is looked into that takes a quarter of the turn or more, if its parts take
// a quarter of its time or more, and are several (or one that is looked into). Regions of one inner loop that
// follow one another are one phase, by the name of the first. What has a name that was in this turn already gets a
// number: "exchange (2)".
//
// The loop ends with the visit that it was found in, or when another one is taken. One thread calls it. Nothing
// here depends on a clock of its own, so the same regions give the same phases.
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
  using Pass = std::function<void(const Boundary&)>;
  using Now = std::function<Seconds()>;

  static constexpr Seconds k_min{1e-4};
  static constexpr std::size_t k_deepest = 64;            // regions in regions; deeper ones are not looked at
  static constexpr std::size_t k_max_paths = 1 << 14;     // regions that are told apart, and their names
  static constexpr std::size_t k_longest = 4096;          // a visit's sequence; longer ones lose their beginning
  static constexpr std::uint64_t k_visits_to_judge = 64;  // what is short by far for so long is not timed any more

  // `now` is asked when a region begins and when it ends.
  RegionPhases(Now now, Pass pass, Seconds least = k_min);

  static constexpr Name k_no_name = ~Name{0};  // of regions that are not looked at: there are too many names

  // The number of a name; `kind`, what regions of its sort are called ("Kokkos kernels"), outlives this.
  Name name(const char* kind, std::string_view text);
  // A region ends by its key: the innermost open one that has it, and with it all that are open in it.
  void begin(std::uint64_t key, Name name);
  void end(std::uint64_t key);

  [[nodiscard]] bool in_loop() const { return loop_begun_; }
  // Of the main loop's phases, the kinds of regions: "Kokkos kernels, OpenMP parallel regions".
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
    bool is_short = false;      // for good
    std::vector<Word> squares;  // words that came twice in a visit
    std::uint32_t loop = 0;     // the main loop, by its number, in which it is a phase; 0: in none
    std::uint32_t repeated_in = k_not_repeated;  // of its parent's squares, the longest that is within a turn
    std::unordered_map<Name, Index> parts;
  };
  struct Open {
    Index path = k_root;
    std::uint64_t key = 0;
    Seconds begun;
    Word sequence;  // of parts that have ended
  };
  struct KnownName {
    const char* kind;
    std::string text;
  };

  [[nodiscard]] bool counts(Index path) const;
  Index part(Index of, Name name);
  void close_innermost();
  void ended_in(std::size_t depth, Index path);
  void turned(std::size_t depth, Word word);
  [[nodiscard]] bool is_part_of_loop(std::size_t depth, const Word& word) const;
  void keep_square(Index of, const Word& word);
  void take(std::size_t depth, Word word);
  void give_up();
  void mark_repeated(Index of, const Word* whole);
  void mark_repeated_below(Index of);
  [[nodiscard]] Index choose_head() const;
  [[nodiscard]] bool is_looked_into(Index path, Seconds turns) const;
  void mark_phases(Index path, Seconds turns);
  void begin_phase(Index path);
  [[nodiscard]] std::string loop_name() const;

  Now now_;
  Pass pass_;
  Seconds least_;
  std::vector<KnownName> names_;
  std::map<std::string, Name, std::less<>> numbers_;  // by kind and text
  std::vector<Path> paths_;
  std::vector<Open> open_;  // the root first; those from depth_ on are kept for their memory
  std::size_t depth_ = 1;
  std::vector<std::uint64_t> not_looked_at_;  // keys of regions that are open inside of one that is not

  bool has_loop_ = false;
  bool loop_begun_ = false;     // as it was passed on: with the next turn
  std::uint32_t loop_ = 0;      // its number
  std::size_t loop_depth_ = 0;  // of the visit whose sequence it is in
  Word word_;
  Index head_ = k_root;
  // Of this turn:
  std::map<std::string, std::uint32_t, std::less<>> used_;  // names of phases
  Index repeating_in_ = k_root;                             // the inner loop that the last phase is
  std::uint32_t repeating_ = k_not_repeated;
};

}  // namespace terrace::runtime
