// SPDX-License-Identifier: Apache-2.0
// Implements the Lagrangian relaxation of the placement problem (docs/explanation/planning.md), for the lower
// bound and the planners' searches. Prices on the rows of the time law and on the places' capacities decouple the
// items; each item then takes a shortest path through the phases (nodes: places at phase boundaries). For any
// prices, the value is a lower bound of the time of every software placement, including moves within phases. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/problem.hpp"
#include "model/relaxation_bundle.hpp"

namespace terrace::model {

// Lagrangian prices. Rows of a phase: the core (C + D), each place's bandwidth, the copies. Invariant: the row
// prices of a phase sum to 1.
struct Multipliers {
  std::vector<double> row;       // [phase x (places + 2)]
  std::vector<double> capacity;  // [phase x places], s/byte, >= 0; 0 for unbounded places
};

// Loads of rows and places if every item takes its shortest path.
struct Activity {
  std::vector<double> row;       // as Multipliers::row, s
  std::vector<double> capacity;  // as Multipliers::capacity, bytes at the start of the phase
};

// Returns, for each place, whether its capacity can bind: its budget is below the footprint of its domain.
std::vector<bool> bounded_places(const Problem& problem);

class Relaxation {
 public:
  explicit Relaxation(const Problem& problem);

  // Returns the bound at these prices; fills `activity`.
  double evaluate(const Multipliers& prices, Activity& activity);

  // Returns the bound of `times` consecutive iterations, each at these prices, with free placements at the start
  // and at the end, regardless of Problem::cyclic. Takes about as long as one evaluate(), for any `times`.
  double evaluate_repeated(const Multipliers& prices, std::uint64_t times);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t core_row() const { return 0; }
  [[nodiscard]] std::size_t place_row(std::size_t place) const { return 1 + place; }
  [[nodiscard]] std::size_t copy_row() const { return rows_ - 1; }
  [[nodiscard]] bool bounded(std::size_t place) const { return bounded_[place]; }
  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  // Costs per byte of a phase for an item, by its places at the phase's start and end: the cheapest chains of
  // copies, without and with the price of capacity. [from x to]
  struct Step {
    double mover = 0;    // price of a second of the mover
    double program = 0;  // price of a second of the program
    std::vector<double> route;
    std::vector<double> untouched;  // route + price of the capacity at `from`
    std::vector<std::uint8_t> hop;  // first stop of the chain
  };
  // An item's traffic in one phase, in seconds of each row.
  struct Touch {
    std::uint32_t phase = 0;
    std::uint32_t first = 0;  // index into loads_: one for each place of the domain
  };
  using Load = ItemBundle::Load;
  struct Priced {
    double exposed = 0;
    double reading = 0;
    double writing = 0;
    double streamed = 0;
  };

  struct BundledPath {  // backtracking state of an item of a bundle
    const Item* item = nullptr;
    double size = 0;
    std::size_t start = 0;
    std::size_t end = 0;  // of the part not backtracked yet
  };

  void price_steps(const Multipliers& prices);
  template <class Loads, class Part>
  static std::size_t min_of(const Loads& priced, Part part, std::size_t a, std::size_t v, std::size_t b);
  template <std::size_t n>
  using Costs = std::array<std::array<double, n>, n>;  // [where the iteration begins][where it ends]
  template <std::size_t n>
  static std::array<Priced, n> price_loads(const double* row, const PlaceId* places, const Load* loads);
  template <std::size_t n>
  Costs<n> path_costs(std::uint32_t item, const Multipliers& prices, bool from_each_start);
  template <std::size_t n>
  double shortest_path(std::uint32_t item, const Multipliers& prices, Activity& activity);
  template <std::size_t n>
  double repeated_path(std::uint32_t item, const Multipliers& prices, std::uint64_t times);
  // Do the same as shortest_path() and repeated_path() for a bundle; add costs to `value` in the order of items.
  void shortest_paths(const ItemBundle& bundle, Activity& activity, double& value);
  void repeated_paths(const ItemBundle& bundle, std::uint64_t times, double& value);
  void backtrack_paths(const ItemBundle& bundle, std::array<BundledPath, Lanes::k_count>& paths,
                       Activity& activity);
  void add_cheaper_loads(const ItemBundle& bundle, std::size_t touch, std::size_t lane, std::size_t from,
                         double* rows) const;
  void form_bundles();
  void price_bundle_step(std::size_t domain, std::size_t phase, const double* row);
  // Visits all items in order: single(item) where it is in no bundle.
  template <class Single, class Bundled>
  void for_all_items(Single single, Bundled bundled);
  // Calls function<n>() with n the number of places of the item's domain.
  template <class Function>
  double for_domain_of(std::uint32_t item, Function function);
  void add_copies(double size, std::size_t domain, std::size_t phase, std::size_t from, std::size_t to);

  const Problem& problem_;
  std::size_t rows_ = 0;
  std::vector<std::vector<PlaceId>> places_;  // by domain
  std::vector<bool> bounded_;                 // by place
  std::vector<std::vector<Touch>> touches_;   // by item
  std::vector<Load> loads_;
  std::vector<Step> steps_;                                  // [phase x domain]
  std::vector<ItemBundle> bundles_;                          // by first item
  std::vector<std::uint32_t> bundle_of_;                     // by item: position + 1 in bundles_; 0 for none
  std::vector<std::vector<ItemBundle::Step>> bundle_steps_;  // [domain][phase]; of domains with two places
  ItemBundle::Paths paths_;                                  // of the current bundle
  std::vector<double> moved_;                                // bytes, [phase x from x to]
  std::vector<std::uint8_t> from_, stop_;                    // of the current item: predecessors of each state
};

// Max places of a domain; Relaxation's constructor throws Error{unsupported} for more.
inline constexpr std::size_t k_max_places_of_domain = 8;

}  // namespace terrace::model
