// Checks searches by Graph500's rules (Graph 500 benchmark specification, "Validation"), and ranks, edge by edge.
#include "graph/truth.hpp"

#include <algorithm>

namespace graph {
namespace {

constexpr std::uint32_t k_unknown = UINT32_MAX;
constexpr std::uint32_t k_asked = UINT32_MAX - 1;  // lies on the path that is being followed

/// Each vertex's distance from `root` along its parents; empty where some never lead there.
std::vector<std::uint32_t> levels_of(std::uint32_t root, const std::vector<std::uint32_t>& parent) {
  if (parent[root] != root) return {};
  std::vector<std::uint32_t> level(parent.size(), k_unknown);
  level[root] = 0;
  std::vector<std::uint32_t> path;
  for (std::uint32_t vertex = 0; vertex < parent.size(); ++vertex) {
    std::uint32_t at = vertex;
    for (; level[at] == k_unknown; at = parent[at]) {
      if (parent[at] >= parent.size()) return {};
      level[at] = k_asked;
      path.push_back(at);
    }
    if (level[at] == k_asked) return {};
    for (std::uint32_t next = level[at] + 1; !path.empty(); path.pop_back()) level[path.back()] = next++;
  }
  return level;
}

std::vector<double> degrees(const Edges& edges) {
  std::vector<double> degree(edges.vertices);
  for (const auto [a, b] : edges.list) {
    ++degree[a];
    ++degree[b];
  }
  return degree;
}

}  // namespace

Tree check_tree(const Edges& edges, std::uint32_t root, const std::vector<std::uint32_t>& parent) {
  const std::vector<std::uint32_t> level = levels_of(root, parent);
  if (level.empty()) return {};
  std::vector<bool> joined(parent.size());
  joined[root] = true;
  for (const auto [a, b] : edges.list) {
    if (std::max(level[a], level[b]) - std::min(level[a], level[b]) > 1) return {};
    if (parent[a] == b) joined[a] = true;
    if (parent[b] == a) joined[b] = true;
  }
  return {std::find(joined.begin(), joined.end(), false) == joined.end(),
          *std::max_element(level.begin(), level.end())};
}

std::vector<double> taken_back(const Edges& edges, std::vector<double> given) {
  const std::vector<double> degree = degrees(edges);
  for (std::size_t vertex = 0; vertex < given.size(); ++vertex) given[vertex] *= degree[vertex];
  return given;
}

std::vector<double> rank_step(const Edges& edges, const std::vector<double>& rank) {
  const std::vector<double> degree = degrees(edges);
  std::vector<double> next(edges.vertices, (1.0 - k_damping) / static_cast<double>(edges.vertices));
  for (const auto [a, b] : edges.list) {
    next[a] += k_damping * rank[b] / degree[b];
    next[b] += k_damping * rank[a] / degree[a];
  }
  return next;
}

}  // namespace graph
