// Declares reference results of graph's search and ranks, computed from the edges one by one.
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

/// The ranks from which each vertex gave `given` to each of its neighbours.
std::vector<double> taken_back(const Edges& edges, std::vector<double> given);

/// The ranks after one more step of PageRank.
std::vector<double> rank_step(const Edges& edges, const std::vector<double>& rank);

}  // namespace graph
