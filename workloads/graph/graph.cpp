// Graph: breadth-first search (search.hpp) and PageRank on a power-law graph (edges.hpp). An iteration is a search
// from a new root, then two steps of PageRank (contribute, gather), which goes on where the last iteration left
// it. Source of PageRank: Page, Brin, Motwani and Winograd, "The PageRank citation ranking", Stanford, 1999; each
// vertex gathers from its neighbours, so the ranks do not depend on the number of threads.
//
// Verified against the edges one by one: the last search by Graph500's rules, every search by
// the number of vertices reached; the ranks against the same last step, their sum against 1, and what one more
// step changes against the bound of a contraction by the damping factor, as its one fixed point does not depend on
// where the steps began.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"
#include "graph/edges.hpp"
#include "graph/search.hpp"
#include "graph/truth.hpp"

namespace graph {

constexpr std::uint64_t k_steps = 2;  // of PageRank, in each iteration

using Ranks = std::vector<double>;

struct Settings {
  std::uint64_t scale = 16;
  std::uint64_t per_vertex = 16;
  std::uint64_t iterations = 8;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

// The kernels are never inlined, so that each keeps its name at run time.

/// Computes each vertex's contribution to each of its neighbours.
[[gnu::noinline]] void contribute(const Graph& graph, const Ranks& rank, Ranks& contribution) {
  const std::uint64_t vertices = graph.vertices();
#pragma omp parallel for schedule(static)
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) {
    contribution[vertex] = rank[vertex] / static_cast<double>(graph.degree(vertex));
  }
}

/// Sums the contributions to each vertex. Degrees differ a thousandfold, so the schedule is dynamic.
[[gnu::noinline]] void gather(const Graph& graph, const Ranks& contribution, Ranks& rank) {
  const std::uint64_t vertices = graph.vertices();
  const double base = (1.0 - k_damping) / static_cast<double>(vertices);
#pragma omp parallel for schedule(dynamic, 256)
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) {
    double sum = 0.0;
    for (std::uint64_t k = graph.start[vertex]; k < graph.start[vertex + 1]; ++k) {
      sum += contribution[graph.neighbour[k]];
    }
    rank[vertex] = base + k_damping * sum;
  }
}

/// The ranks are their own verdict: how far they lie from the truth, and whether that is near enough.
struct RankCheck {
  double error = 0.0;  // the largest relative difference from the same last step
  double sum = 0.0;
  double residual = 0.0;  // the sum of what one more step changes
  bool right = false;
};

/// `given` is what each vertex gave to each neighbour in the last of the `steps`.
RankCheck check_ranks(const Edges& edges, const Ranks& rank, const Ranks& given, std::uint64_t steps) {
  const Ranks truth = rank_step(edges, taken_back(edges, given));
  const Ranks next = rank_step(edges, rank);

  RankCheck check;
  check.sum = std::accumulate(rank.begin(), rank.end(), 0.0);
  for (std::uint64_t vertex = 0; vertex < edges.vertices; ++vertex) {
    check.residual += std::abs(next[vertex] - rank[vertex]);
    check.error = workloads::worse(check.error, std::abs(rank[vertex] / truth[vertex] - 1.0));
  }
  // Sums of positive terms in another order. The first step changes ranks by 2 at most, in sum.
  constexpr double k_tolerance = 1e-11;
  const double bound = 2.0 * std::pow(k_damping, static_cast<double>(steps));
  check.right = check.error <= k_tolerance && std::abs(check.sum - 1.0) <= k_tolerance &&
                check.residual <= bound + k_tolerance;
  return check;
}

void report(const Settings& settings, const Edges& edges, const Graph& graph, double seconds) {
  std::uint64_t most = 0;
  for (std::uint64_t vertex = 0; vertex < graph.vertices(); ++vertex) most = std::max(most, graph.degree(vertex));
  std::printf("Graph: %llu vertices, %zu edges, at most %llu at a vertex, %llu iterations\n",
              static_cast<unsigned long long>(edges.vertices), edges.list.size(),
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(settings.iterations));
  const double edges_an_iteration = static_cast<double>(edges.list.size()) * (1.0 + k_steps);
  std::printf("Time %14.9f s %14.0f edges a second\n", seconds,
              edges_an_iteration * static_cast<double>(settings.iterations) / seconds);
}

int run(const Settings& settings, const Edges& edges) {
  const Graph graph(edges);
  Search search(graph);
  Ranks rank(graph.vertices(), 1.0 / static_cast<double>(graph.vertices()));
  Ranks contribution(graph.vertices());

  std::uint32_t root = 0;
  bool reached_all = true;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    const std::uint64_t drawn = workloads::random_at(workloads::mix(settings.seed), iteration);
    root = static_cast<std::uint32_t>(workloads::below(drawn, graph.vertices()));
    workloads::phase("search");
    reached_all = search.run(root) == graph.vertices() && reached_all;
    for (std::uint64_t step = 0; step < k_steps; ++step) {
      workloads::phase("contribute");
      contribute(graph, rank, contribution);
      workloads::phase("gather");
      gather(graph, contribution, rank);
    }
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  report(settings, edges, graph, end - begin);
  const Tree tree = check_tree(edges, root, search.parent());
  const RankCheck ranks = check_ranks(edges, rank, contribution, settings.iterations * k_steps);
  std::printf("Search: %s, %llu levels below the last root\n",
              !reached_all ? "vertices were missed"
              : tree.right ? "shortest paths"
                           : "not the shortest paths",
              static_cast<unsigned long long>(tree.depth));
  std::printf("Ranks: largest relative error %.3e, sum 1 %+.3e, residual %.6e\n", ranks.error, ranks.sum - 1.0,
              ranks.residual);
  return workloads::verdict(reached_all && tree.right && ranks.right);
}

}  // namespace graph

int main(int argc, char** argv) {
  graph::Settings settings;
  workloads::Options options("graph", "breadth-first search and PageRank on a power-law graph");
  options.count("--scale", &settings.scale, "2^N vertices, N up to 28; keeps the largest component");
  options.count("--per-vertex", &settings.per_vertex, "average number of edges drawn per vertex");
  options.count("--iterations", &settings.iterations, "number of searches, each followed by two PageRank steps");
  options.count("--seed", &settings.seed, "seed of the graph and of the roots");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.scale > 28) options.fail("--scale: at most 28");
  if (settings.per_vertex > 1024 || settings.per_vertex << settings.scale >= UINT32_MAX) {
    options.fail("--per-vertex: at most 1024, and fewer than 2^32 edges in all");
  }
  const graph::Edges edges = graph::make_edges(settings.scale, settings.per_vertex, settings.seed);
  if (edges.list.empty()) options.fail("--seed: no edge was drawn; take another one, or a larger --scale");
  return graph::run(settings, edges);
}
