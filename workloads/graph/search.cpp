// Implements the steps of graph's search. Each is never inlined, so that it keeps its name at run time. Which of
// several parents a vertex gets depends on the threads; its level does not.
#include "graph/search.hpp"

namespace graph {

// The vectors get their sizes in lines of their own, by which profiles tell them apart.
Search::Search(const Graph& graph) : graph_(graph) {
  parent_.resize(graph.vertices());
  queue_.resize(graph.vertices());
  next_queue_.resize(graph.vertices());
}

std::uint64_t Search::run(std::uint32_t root) {
  begin(root);
  std::uint64_t reached = 1;
  for (std::uint64_t vertices = 1; vertices > 0; reached += vertices) vertices = step(vertices);
  return reached;
}

[[gnu::noinline]] void Search::begin(std::uint32_t root) {
  const std::uint64_t vertices = graph_.vertices();
#pragma omp parallel for schedule(static)
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) parent_[vertex] = k_nobody;
  parent_[root] = root;
  queue_[0] = root;
}

/// Takes the queue's `vertices` to the next level; returns how many that has. Degrees differ a thousandfold, so
/// threads take vertices as they come.
[[gnu::noinline]] std::uint64_t Search::step(std::uint64_t vertices) {
  std::uint32_t* const parent = parent_.data();
  std::uint64_t found = 0;
#pragma omp parallel for schedule(dynamic, 64)
  for (std::uint64_t i = 0; i < vertices; ++i) {
    const std::uint32_t from = queue_[i];
    for (std::uint64_t k = graph_.start[from]; k < graph_.start[from + 1]; ++k) {
      const std::uint32_t to = graph_.neighbour[k];
      std::uint32_t before = 0;
#pragma omp atomic read
      before = parent[to];
      if (before != k_nobody) continue;
        // Another thread may have come in between. Its vertex is of the same level, so either may be the parent.
#pragma omp atomic capture
      {
        before = parent[to];
        parent[to] = from;
      }
      if (before != k_nobody) continue;
      std::uint64_t place = 0;
#pragma omp atomic capture
      place = found++;
      next_queue_[place] = to;
    }
  }
  queue_.swap(next_queue_);
  return found;
}

}  // namespace graph
