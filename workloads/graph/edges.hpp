// Declares the graph that the workload graph searches and ranks: undirected, in one piece, degrees by a power law.
#pragma once

#include <cstdint>
#include <vector>

namespace graph {

/// Between two vertices, `a` below `b`.
struct Edge {
  std::uint32_t a;
  std::uint32_t b;

  auto operator<=>(const Edge&) const = default;
};

struct Edges {
  std::uint64_t vertices = 0;
  std::vector<Edge> list;  // distinct, in order
};

/// The largest component of an R-MAT graph of 2^scale vertices and `per_vertex` * 2^scale edges drawn, of which
/// those from a vertex to itself, and those drawn before, do not count. Its vertices are renumbered. There are
/// none when no edge was drawn.
Edges make_edges(std::uint64_t scale, std::uint64_t per_vertex, std::uint64_t seed);

/// Compressed rows: the neighbours of vertex v are those with numbers [start[v], start[v+1]), in order. Each edge
/// is there both ways.
struct Graph {
  explicit Graph(const Edges& edges);

  std::uint64_t vertices() const { return start.size() - 1; }
  std::uint64_t degree(std::uint64_t vertex) const { return start[vertex + 1] - start[vertex]; }

  std::vector<std::uint64_t> start;
  std::vector<std::uint32_t> neighbour;
};

}  // namespace graph
