// What the search and the ranks are to be, from the edges one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/edges.hpp"

namespace graph {

constexpr double k_damping = 0.85;

/// Whether `parent` is a tree of shortest paths from `root` to all vertices, by Graph500's rules: it has no cycle,
/// its edges are the graph's, and no edge joins vertices whose levels differ by more than 1. Gives the deepest
/// level.
struct Tree {
  bool right = false;
  std::uint64_t depth = 0;
};
Tree check_tree(const Edges& edges, std::uint32_t root, const std::vector<std::uint32_t>& parent);

/// The ranks after `steps` more steps of PageRank.
std::vector<double> rank_steps(const Edges& edges, std::vector<double> rank, std::uint64_t steps);

}  // namespace graph
