// Declares graph's breadth-first search from a root, level by level: the vertices of a level, in a queue, find
// those of the next one. Source: the Graph 500 benchmark specification, "Kernel 2".
#pragma once

#include <cstdint>
#include <vector>

#include "graph/edges.hpp"

namespace graph {

constexpr std::uint32_t k_nobody = UINT32_MAX;

class Search {
 public:
  explicit Search(const Graph& graph);

  /// Finds each vertex's parent in a tree of shortest paths from `root`, which is its own; k_nobody where there is
  /// no path. Returns how many vertices it reached.
  std::uint64_t run(std::uint32_t root);

  const std::vector<std::uint32_t>& parent() const { return parent_; }

 private:
  void begin(std::uint32_t root);
  std::uint64_t step(std::uint64_t vertices);

  const Graph& graph_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> next_queue_;
};

}  // namespace graph
