// Draws the edges of the workload graph and compresses them to lists of neighbours by vertex.
#include "graph/edges.hpp"

#include <algorithm>
#include <numeric>

#include "common/rmat.hpp"

namespace graph {
namespace {

std::vector<Edge> draw(std::uint64_t scale, std::uint64_t per_vertex, std::uint64_t seed) {
  workloads::Rmat places(scale, seed);
  std::vector<Edge> edges;
  edges.reserve(per_vertex << scale);
  for (std::uint64_t i = 0; i < per_vertex << scale; ++i) {
    const auto [row, column] = places.next();
    if (row != column) edges.push_back({std::min(row, column), std::max(row, column)});
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// For each vertex, the one that stands for its component. Source: Tarjan, van Leeuwen, "Worst-case analysis of
/// set union algorithms", J. ACM 31, 1984: paths are halved.
class Components {
 public:
  explicit Components(std::uint64_t vertices) : above_(vertices) {
    std::iota(above_.begin(), above_.end(), std::uint32_t{0});
  }

  std::uint32_t of(std::uint32_t vertex) {
    while (above_[vertex] != vertex) vertex = above_[vertex] = above_[above_[vertex]];
    return vertex;
  }
  void join(Edge edge) { above_[of(edge.a)] = of(edge.b); }

 private:
  std::vector<std::uint32_t> above_;
};

}  // namespace

Edges make_edges(std::uint64_t scale, std::uint64_t per_vertex, std::uint64_t seed) {
  const std::vector<Edge> drawn = draw(scale, per_vertex, seed);
  Components components(std::uint64_t{1} << scale);
  for (const Edge edge : drawn) components.join(edge);

  std::vector<std::uint64_t> edges_of(std::uint64_t{1} << scale);
  for (const Edge edge : drawn) ++edges_of[components.of(edge.a)];
  const auto largest =
      static_cast<std::uint32_t>(std::max_element(edges_of.begin(), edges_of.end()) - edges_of.begin());

  Edges edges;
  edges.list.reserve(edges_of[largest]);
  std::vector<std::uint32_t> number(edges_of.size());
  for (std::uint32_t vertex = 0; vertex < number.size(); ++vertex) {
    if (components.of(vertex) == largest) number[vertex] = static_cast<std::uint32_t>(edges.vertices++);
  }
  // Numbers are in the order that the vertices had, so the edges stay in order.
  for (const Edge edge : drawn) {
    if (components.of(edge.a) == largest) edges.list.push_back({number[edge.a], number[edge.b]});
  }
  return edges;
}

// The vectors get their sizes in lines of their own, by which profiles tell them apart.
Graph::Graph(const Edges& edges) {
  start.resize(edges.vertices + 1);
  neighbour.resize(2 * edges.list.size());
  for (const Edge edge : edges.list) {
    ++start[edge.a + 1];
    ++start[edge.b + 1];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint64_t> next(start.begin(), start.end() - 1);
  // A vertex gets its smaller neighbours first, as the edges are in order.
  for (const Edge edge : edges.list) {
    neighbour[next[edge.a]++] = edge.b;
    neighbour[next[edge.b]++] = edge.a;
  }
}

}  // namespace graph
