// SPDX-License-Identifier: Apache-2.0
// Solves knapsacks with several bins: bounds by prices, a greedy solution with local improvement, dynamic
// programming for the rest. Planners and the placement by hints call it. See knapsack.hpp.
#include "strategy/search/knapsack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace terrace::strategy {
namespace {

constexpr double k_none = -std::numeric_limits<double>::infinity();
constexpr std::size_t k_max_swap_items = 768;  // swaps are tried only among the items nearest to indifference

class Solver {
 public:
  explicit Solver(const Knapsack& knapsack)
      : knapsack_(knapsack),
        items_(knapsack.items.size()),
        bins_(knapsack.capacity.size()),
        price_(bins_, 0),
        choice_(items_, 0),
        used_(bins_, 0) {}

  KnapsackSolution run(std::size_t max_states) {
    find_prices();
    KnapsackSolution answer;
    answer.bound = bound();
    answer.feasible = greedy();
    if (answer.feasible) improve();
    answer.value = answer.feasible ? value_of(choice_) : k_none;
    answer.exact = complete(answer, max_states);
    if (answer.exact && answer.feasible) answer.bound = answer.value;
    answer.bin = choice_;
    if (!answer.feasible) answer.value = 0;
    return answer;
  }

 private:
  [[nodiscard]] double value(std::size_t i, std::size_t b) const { return knapsack_.items[i].value[b]; }
  [[nodiscard]] std::uint64_t size(std::size_t i) const { return knapsack_.items[i].size; }
  [[nodiscard]] bool allowed(std::size_t i, std::size_t b) const { return value(i, b) > k_not_allowed; }
  [[nodiscard]] double reduced(std::size_t i, std::size_t b) const {
    return allowed(i, b) ? value(i, b) - price_[b] * static_cast<double>(size(i)) : k_none;
  }
  [[nodiscard]] std::size_t best_bin(std::size_t i) const {
    std::size_t best = 0;
    for (std::size_t b = 1; b < bins_; ++b) {
      if (reduced(i, b) > reduced(i, best)) best = b;
    }
    return best;
  }
  [[nodiscard]] double value_of(const std::vector<std::uint32_t>& choice) const {
    double sum = 0;
    for (std::size_t i = 0; i < items_; ++i) sum += value(i, choice[i]);
    return sum;
  }
  [[nodiscard]] double bound() const {
    double sum = 0;
    for (std::size_t b = 0; b < bins_; ++b) {
      if (price_[b] > 0) sum += price_[b] * static_cast<double>(knapsack_.capacity[b]);
    }
    for (std::size_t i = 0; i < items_; ++i) sum += reduced(i, best_bin(i));
    return sum;
  }

  // Returns the size of all items that prefer bin b at the present prices.
  [[nodiscard]] std::uint64_t demand(std::size_t b) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < items_; ++i) {
      if (best_bin(i) == b) sum += size(i);
    }
    return sum;
  }
  // Finds the price of each bin by bisection: the lowest at which the demand for it does not exceed its capacity.
  void find_prices() {
    double steepest = 0;
    for (std::size_t i = 0; i < items_; ++i) {
      const auto [low, high] =
          std::minmax_element(knapsack_.items[i].value.begin(), knapsack_.items[i].value.end());
      const auto from = *low > k_not_allowed ? *low : 0;
      if (size(i) > 0)
        steepest = std::max(steepest, (std::abs(*high) + std::abs(from)) / static_cast<double>(size(i)));
    }
    const int rounds = bins_ > 2 ? 8 : 2;
    for (int round = 0; round < rounds; ++round) {
      bool changed = false;
      for (std::size_t b = 0; b < bins_; ++b) {
        const auto before = price_[b];
        price_[b] = 0;
        if (demand(b) > knapsack_.capacity[b]) {
          double low = 0, high = 2 * steepest + std::numeric_limits<double>::min();
          for (int step = 0; step < 60 && high - low > 1e-15 * high; ++step) {
            price_[b] = (low + high) / 2;
            (demand(b) > knapsack_.capacity[b] ? low : high) = price_[b];
          }
          price_[b] = high;
        }
        changed = changed || price_[b] != before;
      }
      if (!changed) break;
    }
  }

  [[nodiscard]] bool fits(std::size_t i, std::size_t b) const {
    return used_[b] + size(i) <= knapsack_.capacity[b];
  }
  void put(std::size_t i, std::size_t b) {
    used_[choice_[i]] -= size(i);
    choice_[i] = static_cast<std::uint32_t>(b);
    used_[b] += size(i);
  }

  // Puts each item into its best bin at the prices, then makes the cheapest changes until no bin is overfull.
  // Returns false if that fails.
  bool greedy() {
    for (std::size_t i = 0; i < items_; ++i) {
      choice_[i] = static_cast<std::uint32_t>(best_bin(i));
      used_[choice_[i]] += size(i);
    }
    for (std::size_t b = 0; b < bins_; ++b) {
      if (used_[b] <= knapsack_.capacity[b]) continue;
      struct Change {
        double loss;
        std::size_t item, to;
      };
      std::vector<Change> changes;
      for (std::size_t i = 0; i < items_; ++i) {
        if (choice_[i] != b || size(i) == 0) continue;
        for (std::size_t to = 0; to < bins_; ++to) {
          if (to == b || !allowed(i, to)) continue;
          changes.push_back({(reduced(i, b) - reduced(i, to)) / static_cast<double>(size(i)), i, to});
        }
      }
      std::stable_sort(changes.begin(), changes.end(),
                       [](const Change& x, const Change& y) { return x.loss < y.loss; });
      for (const auto& change : changes) {
        if (used_[b] <= knapsack_.capacity[b]) break;
        if (choice_[change.item] == b && fits(change.item, change.to)) put(change.item, change.to);
      }
    }
    for (std::size_t b = 0; b < bins_; ++b) {
      if (used_[b] > knapsack_.capacity[b]) return false;
    }
    return true;
  }

  // Improves the greedy solution by moves of one item and swaps of two.
  void improve() {
    // Tries the candidates nearest to indifference first.
    std::vector<std::size_t> order(items_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<double> edge(items_, 0);
    for (std::size_t i = 0; i < items_; ++i) {
      double second = k_none;
      for (std::size_t b = 0; b < bins_; ++b) {
        if (b != choice_[i]) second = std::max(second, reduced(i, b));
      }
      edge[i] = std::abs(reduced(i, choice_[i]) - second);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return edge[a] < edge[b]; });
    const auto swappable = std::min(items_, k_max_swap_items);
    for (int pass = 0; pass < 8; ++pass) {
      bool better = false;
      for (const auto i : order) better = best_single(i) || better;
      for (std::size_t x = 0; x < swappable; ++x) {
        for (std::size_t y = 0; y < x; ++y) better = swap(order[x], order[y]) || better;
      }
      if (!better) break;
    }
  }
  // Puts the item into the bin of greatest value that has space. Returns whether it moved.
  bool best_single(std::size_t i) {
    auto best = static_cast<std::size_t>(choice_[i]);
    for (std::size_t b = 0; b < bins_; ++b) {
      if (b != choice_[i] && fits(i, b) && value(i, b) > value(i, best)) best = b;
    }
    if (best == choice_[i]) return false;
    put(i, best);
    return true;
  }
  // Exchanges the bins of two items if that fits and gains. Returns whether it did.
  bool swap(std::size_t i, std::size_t j) {
    const std::size_t a = choice_[i], b = choice_[j];
    if (a == b || !allowed(i, b) || !allowed(j, a)) return false;
    if (value(i, b) + value(j, a) <= value(i, a) + value(j, b)) return false;
    if (used_[a] - size(i) + size(j) > knapsack_.capacity[a]) return false;
    if (used_[b] - size(j) + size(i) > knapsack_.capacity[b]) return false;
    put(i, b);
    put(j, a);
    return true;
  }

  // Solves what the bounds leave open by dynamic programming. Returns whether the solution is exact.
  bool complete(KnapsackSolution& answer, std::size_t max_states) {
    const auto slack = 1e-13 * (std::abs(answer.bound) + 1e-300);
    std::vector<std::size_t> open;
    std::vector<std::vector<std::uint32_t>> options;
    auto choice = choice_;
    auto room = knapsack_.capacity;
    for (std::size_t i = 0; i < items_; ++i) {
      const auto best = reduced(i, best_bin(i));
      std::vector<std::uint32_t> left;
      for (std::size_t b = 0; b < bins_; ++b) {
        if (!allowed(i, b) || size(i) > knapsack_.capacity[b]) continue;
        if (!answer.feasible || answer.bound - best + reduced(i, b) > answer.value + slack) {
          left.push_back(static_cast<std::uint32_t>(b));
        }
      }
      if (left.empty()) return true;  // no better solution exists, or none at all
      if (left.size() > 1) {
        open.push_back(i);
        options.push_back(std::move(left));
        continue;
      }
      choice[i] = left.front();
      if (size(i) > room[left.front()]) return true;
      room[left.front()] -= size(i);
    }
    return open.empty() ? accept(choice, answer) : dynamic(open, options, room, choice, answer, max_states);
  }

  // Takes a complete choice if it is better than the answer so far.
  bool accept(const std::vector<std::uint32_t>& choice, KnapsackSolution& answer) {
    const auto value = value_of(choice);
    if (!answer.feasible || value > answer.value) {
      answer.value = value;
      choice_ = choice;
    }
    answer.feasible = true;
    return true;
  }

  // Decides the open items by dynamic programming. Returns false if that needs more than `max_states`.
  bool dynamic(const std::vector<std::size_t>& open, const std::vector<std::vector<std::uint32_t>>& options,
               const std::vector<std::uint64_t>& room, std::vector<std::uint32_t> choice, KnapsackSolution& answer,
               std::size_t max_states) {
    std::uint64_t granule = 0, total = 0;
    for (const auto i : open) {
      granule = std::gcd(granule, size(i));
      total += size(i);
    }
    if (granule == 0) granule = 1;
    // The state is the fill of each bin. A bin large enough for all open items is no dimension of it; if all are
    // bounded, neither is the largest: it holds what the others do not.
    std::size_t spare = 0;
    for (std::size_t b = 0; b < bins_; ++b) {
      if (room[b] > room[spare]) spare = b;
    }
    std::vector<std::size_t> stride(bins_, 0), steps(bins_, 1);
    std::size_t states = 1;
    for (std::size_t b = 0; b < bins_; ++b) {
      if (b == spare || room[b] >= total) continue;
      stride[b] = states;
      steps[b] = room[b] / granule + 1;
      if (steps[b] > max_states / states) return false;
      states *= steps[b];
    }
    if (states > max_states / open.size()) return false;
    std::vector<std::uint64_t> elsewhere(room[spare] < total ? states : 0, 0);  // units not in the spare bin
    for (std::size_t s = 0; s < elsewhere.size(); ++s) {
      for (std::size_t b = 0; b < bins_; ++b) {
        if (stride[b] > 0) elsewhere[s] += s / stride[b] % steps[b];
      }
    }

    std::vector<double> best(states, k_none), next(states);
    std::vector<std::uint8_t> taken(states * open.size());
    best[0] = 0;
    std::uint64_t placed = 0;
    for (std::size_t n = 0; n < open.size(); ++n) {
      std::fill(next.begin(), next.end(), k_none);
      const auto units = size(open[n]) / granule;
      placed += units;
      for (const auto b : options[n]) {
        const auto gain = value(open[n], b);
        const auto jump = units * stride[b];
        for (std::size_t s = jump; s < states; ++s) {
          if (best[s - jump] + gain <= next[s]) continue;
          if (stride[b] > 0 && s / stride[b] % steps[b] < units) continue;
          next[s] = best[s - jump] + gain;
          taken[n * states + s] = static_cast<std::uint8_t>(b);
        }
      }
      for (std::size_t s = 0; s < elsewhere.size(); ++s) {
        if (placed > elsewhere[s] + room[spare] / granule) next[s] = k_none;
      }
      best.swap(next);
    }
    const auto last = std::max_element(best.begin(), best.end());
    if (*last == k_none) return true;
    auto state = static_cast<std::size_t>(last - best.begin());
    for (auto n = open.size(); n-- > 0;) {
      const auto b = taken[n * states + state];
      choice[open[n]] = b;
      state -= size(open[n]) / granule * stride[b];
    }
    return accept(choice, answer);
  }

  const Knapsack& knapsack_;
  std::size_t items_, bins_;
  std::vector<double> price_;          // by bin, value a byte
  std::vector<std::uint32_t> choice_;  // by item
  std::vector<std::uint64_t> used_;    // by bin
};

}  // namespace

KnapsackSolution solve(const Knapsack& knapsack, std::size_t max_states) {
  return Solver(knapsack).run(max_states);
}

}  // namespace terrace::strategy
