// What a problem might have been, had its profile been exact: draws from the distribution of the true counts,
// given the samples. Stays outside users' processes: it takes libm.
//
// How samples are taken: profile/sampling_collector.hpp. A phase's n time samples are shared out among its objects
// and the core; its miss samples, n of N lines each, among reads and writes of its objects and memory of none.
// What is known of the true shares after n samples of which k_o met o is Dirichlet(k_1, k_2, ...): each total is
// drawn from Gamma(k_o), and all are scaled to the n that were taken, with the error of a phase's two ends (four
// uniform numbers). That is the binomial error of either sampler, an upper bound on theirs; where chunks are met
// one behind the other they do better, which nothing in a profile shows.
//
// Within an object the total is shared out among items. Each alone is met by few samples, and to take their noise
// for differences would promise a gain that nobody can have: the best of many noisy guesses. So items are taken
// for draws of Gamma distributions themselves (empirical Bayes, after Robbins and Morris), twice: what an item has
// by the byte against its object over all phases, and what it has in a phase against that. Their spreads are what
// the counts vary by beyond chance, plus 1.645 standard errors of that, so that items count as alike only as far
// as the samples show it. Over all phases items keep what they were drawn to have. Items that no sample of a phase
// met are among them as far as chance would have missed some: if counts of those that were met have mean c, and m
// solves c = m / (1 - exp(-m)), then each that was met stands for 1 / (exp(m) - 1) that were touched and not met.
// The others stay untouched.
//
// An object that no sample of a phase met stays without traffic there: it has less than 3 samples' worth (95 %).
// Errors that are none of sampling are not here: what no hook saw, what the next iteration does otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

class SamplingError {
 public:
  // Refers to the problem, which must stay as it is. An exact problem, or one whose cells have no variances, has
  // no error: every draw is the problem itself.
  explicit SamplingError(const Problem& problem);

  // The same number always gives the same problem. Items, places and budgets are the problem's; cells differ, and
  // there may be some for items that have none there. Where the problem was held against what its phases took, so
  // is a draw; where it was not (data moved meanwhile), neither is the draw.
  [[nodiscard]] Problem draw(std::uint64_t number) const;

  [[nodiscard]] bool none() const { return none_; }
  // That a draw consists of: what it takes is in proportion to them.
  [[nodiscard]] std::uint64_t values() const { return values_; }

  enum Kind : std::uint8_t { time_samples, read, written, kinds };
  struct Member {
    std::uint32_t item = 0;
    double count = 0;    // samples that met it
    double mean = 0;     // if it had as many by the byte as its object
    double touched = 1;  // how probably it has a share at all
  };
  struct Group {  // an object in a phase, in one of the three counts
    Kind kind = time_samples;
    std::uint32_t object = 0;
    double unit = 0;   // what one sample stands for
    double count = 0;  // samples that met it
    double shape = 0;  // of the Gamma distribution of its items' true counts
    std::vector<Member> members;
  };
  struct Counts {  // what a phase's samples are shared out among
    std::vector<Group> groups;
    double unit = 0;
    double rest = 0;  // samples that met none of them
  };
  struct Relative {  // what an item has by the byte against its object, over all phases: Gamma(shape) / rate
    double shape = 0;
    double rate = 0;
    double mean = 0;   // samples that would meet it if it had as many by the byte as its object
    bool met = false;  // whether any did
  };

 private:
  struct PhaseError {
    Counts time, lines;
  };
  template <class Function>
  void for_each_group(Function function);
  void fit();

  const Problem& problem_;
  std::vector<PhaseError> phases_;
  std::vector<Relative> relative_[kinds];  // by item
  std::uint64_t values_ = 0;
  bool none_ = true;
};

}  // namespace terrace::model
