// SPDX-License-Identifier: Apache-2.0
// Models the sampling error of a problem: draws from the posterior distribution of the true counts, given the
// samples. Not linked into users' processes, because it needs libm. The confidence of predictions is computed from
// its draws (strategy/confidence).
//
// Objects. Samples are taken as in observe/collecting/sampling_collector.hpp. A phase's n time samples are
// distributed over its objects and the core; its miss samples, n of N lines each, over reads and writes of its
// objects and of memory without an object. With k_o of n samples on object o, the posterior of the true shares is
// Dirichlet(k_1, k_2, ...): each total is drawn from Gamma(k_o), and all are scaled to n, with the error of the
// phase's two ends (four uniform numbers). That is the binomial error of either sampler, an upper bound of theirs;
// they are more accurate for chunks accessed one after another, which a profile does not show.
//
// Items. Within an object the total is distributed over items. A single item has few samples; taking their noise
// for real differences would predict a gain that no placement has (the best of many noisy guesses). Items are
// therefore draws from Gamma distributions themselves (empirical Bayes, after Robbins and Morris), at two levels:
// an item's traffic per byte relative to its object over all phases, and its traffic in a phase relative to that.
// The spreads are the counts' variation beyond chance, plus 1.645 standard errors of it, so that items count as
// alike only as far as samples show it. Over all phases an item keeps its drawn total. Items without samples in a
// phase are included as far as chance explains their absence: if the sampled items' counts have the mean c, and m
// solves c = m / (1 - exp(-m)), then each sampled item stands for 1 / (exp(m) - 1) accessed items without samples.
// The others count as not accessed.
//
// An object without samples in a phase stays without traffic there: it has less than 3 samples' worth (95 %).
// Errors of other kinds are not modelled: uninstrumented accesses, variation between iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

class SamplingError {
 public:
  // Refers to the problem, which must not change. An exact problem, or one without variances, has no error: every
  // draw equals the problem.
  explicit SamplingError(const Problem& problem);

  // Returns a draw; the same `number` always gives the same problem. Items, places and budgets are the problem's;
  // cells differ, and items without a cell may get one. A draw is fitted to measured times if the problem was (not
  // the case if data moved during the profile).
  [[nodiscard]] Problem draw(std::uint64_t number) const;

  [[nodiscard]] bool none() const { return none_; }
  // Returns the number of drawn values, to which a draw's time is proportional.
  [[nodiscard]] std::uint64_t values() const { return values_; }

  enum Kind : std::uint8_t { time_samples, read, written, kinds };
  struct Member {
    std::uint32_t item = 0;
    double count = 0;    // its samples
    double mean = 0;     // its samples if it had as many per byte as its object
    double touched = 1;  // probability that it was accessed
  };
  struct Group {  // an object in a phase, for one kind of count
    Kind kind = time_samples;
    std::uint32_t object = 0;
    double unit = 0;   // amount per sample
    double count = 0;  // its samples
    double shape = 0;  // of the Gamma distribution of its items' true counts
    std::vector<Member> members;
  };
  struct Counts {  // distribution of a phase's samples
    std::vector<Group> groups;
    double unit = 0;
    double rest = 0;  // samples on none of the groups
  };
  struct Relative {  // an item's traffic per byte relative to its object, over all phases: Gamma(shape) / rate
    double shape = 0;
    double rate = 0;
    double mean = 0;   // its samples if it had as many per byte as its object
    bool met = false;  // whether it has any
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
