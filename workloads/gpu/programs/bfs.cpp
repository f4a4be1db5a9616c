// Implements breadth-first search of a graph, level by level (Rodinia; Che et al., "Rodinia: a benchmark suite for
// heterogeneous computing", IISWC 2009; the algorithm: Harish and Narayanan, "Accelerating large graph algorithms
// on the GPU using CUDA", HiPC 2007). One thread per node and level: the first kernel follows the edges of the
// level's nodes, the second one makes the nodes found the next level, and reports whether there are any.
#include <algorithm>
#include <deque>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 512;
constexpr std::int32_t k_unreached = -1;
constexpr std::int32_t k_source = 0;

using Neighbours = std::vector<std::vector<std::int32_t>>;

// Generates a graph like Rodinia: each node draws 2 to 4 others, and an edge goes both ways. So a node has 2 edges
// or more, 6 on average; two nodes may have several edges, and a node may have one to itself.
Neighbours random_graph(std::size_t nodes) {
  Neighbours neighbours(nodes);
  std::mt19937 random(11);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto drawn = 2 + random() % 3;
    for (std::size_t i = 0; i < drawn; ++i) {
      const auto other = random() % nodes;
      neighbours[node].push_back(static_cast<std::int32_t>(other));
      neighbours[other].push_back(static_cast<std::int32_t>(node));
    }
  }
  return neighbours;
}

std::vector<std::int32_t> distances(const Neighbours& neighbours) {
  std::vector<std::int32_t> distance(neighbours.size(), k_unreached);
  distance[k_source] = 0;
  std::deque<std::size_t> queue{k_source};
  while (!queue.empty()) {
    const auto node = queue.front();
    queue.pop_front();
    for (const auto other : neighbours[node]) {
      auto& reached = distance[static_cast<std::size_t>(other)];
      if (reached != k_unreached) continue;
      reached = distance[node] + 1;
      queue.push_back(static_cast<std::size_t>(other));
    }
  }
  return distance;
}

// Arrays as Rodinia allocates them. Node i is a structure of two words: its first edge and its number of edges.
struct Graph {
  Graph(Device& device, const Neighbours& neighbours, std::size_t edge_count)
      : nodes(device.array<std::int32_t>("graph_nodes", 2 * neighbours.size())),
        edges(device.array<std::int32_t>("graph_edges", edge_count)),
        mask(device.array<std::uint8_t>("graph_mask", neighbours.size())),
        updating_mask(device.array<std::uint8_t>("updating_graph_mask", neighbours.size())),
        visited(device.array<std::uint8_t>("graph_visited", neighbours.size())),
        cost(device.array<std::int32_t>("cost", neighbours.size())),
        over(device.array<std::uint8_t>("over", 1)),
        size(static_cast<std::int32_t>(neighbours.size())) {
    std::size_t next = 0;
    for (std::size_t node = 0; node < neighbours.size(); ++node) {
      nodes.host()[2 * node] = static_cast<std::int32_t>(next);
      nodes.host()[2 * node + 1] = static_cast<std::int32_t>(neighbours[node].size());
      for (const auto other : neighbours[node]) edges.host()[next++] = other;
      cost.host()[node] = k_unreached;
    }
    mask.host()[k_source] = visited.host()[k_source] = 1;
    cost.host()[k_source] = 0;
  }

  Array<std::int32_t> nodes;
  Array<std::int32_t> edges;
  Array<std::uint8_t> mask;           // the nodes of this level
  Array<std::uint8_t> updating_mask;  // those of the next one
  Array<std::uint8_t> visited;
  Array<std::int32_t> cost;
  Array<std::uint8_t> over;  // whether there is a next level
  std::int32_t size;
};

void expand(Device& device, const Graph& graph, std::int32_t ctas) {
  device.launch({"bfs.expand", ctas, k_threads, 14}, [&](Thread& t) {
    const auto node = t.index();
    if (node >= graph.size) return;
    if (t.load(graph.mask, node) == 0) return;
    t.store(graph.mask, node, 0);
    const auto word = node * 2;
    const auto first = t.load(graph.nodes, word);
    const auto degree = t.load(graph.nodes, word + 1);
    for (const auto edge : t.range(first, first + degree)) {
      const auto other = t.load(graph.edges, edge);
      if (t.load(graph.visited, other) != 0) continue;
      const auto own_cost = t.load(graph.cost, node);
      t.store(graph.cost, other, own_cost + 1);
      t.store(graph.updating_mask, other, 1);
    }
  });
}

void commit(Device& device, const Graph& graph, std::int32_t ctas) {
  device.launch({"bfs.commit", ctas, k_threads, 8}, [&](Thread& t) {
    const auto node = t.index();
    if (node >= graph.size) return;
    if (t.load(graph.updating_mask, node) == 0) return;
    t.store(graph.mask, node, 1);
    t.store(graph.visited, node, 1);
    t.store(graph.over, 0, 1);
    t.store(graph.updating_mask, node, 0);
  });
}

class Bfs final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "bfs"; }
  [[nodiscard]] std::string_view title() const override { return "Breadth-first search, level by level"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Nodes.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {5003}, ""},
        {"paper", {1000000}, "as Rodinia's graph1MW_6: one million nodes, 6 edges each on average"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto neighbours = random_graph(static_cast<std::size_t>(numbers[0]));
    std::size_t edges = 0;
    for (const auto& of_node : neighbours) edges += of_node.size();
    const Graph graph(device, neighbours, edges);
    const auto ctas = (graph.size + k_threads - 1) / k_threads;
    const auto expected = distances(neighbours);
    // The nodes of the last level find none. A wrong kernel might find some for ever.
    const auto levels = *std::max_element(expected.begin(), expected.end()) + 1;
    std::int32_t level = 0;
    do {
      graph.over.host()[0] = 0;
      expand(device, graph, ctas);
      commit(device, graph, ctas);
      ++level;
    } while (graph.over.host()[0] != 0 && level < levels);

    Comparison comparison;
    comparison.add(graph.over.host()[0], 0);
    comparison.add(level, levels);
    for (std::size_t node = 0; node < expected.size(); ++node)
      comparison.add(graph.cost.host()[node], expected[node]);
    return comparison.verdict("levels and distances from the source", 0);
  }
};

}  // namespace

const GpuProgram& bfs_program() {
  static const Bfs program;
  return program;
}

}  // namespace terrace::gpu_sim
