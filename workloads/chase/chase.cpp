// Pointer chase: the latency of memory. Each step loads the address of the next from a line of 64 bytes, so no
// step can begin before the one before it is done. The lines are visited in a random cyclic order, which no
// prefetcher predicts. K chains are K such cycles over disjoint lines of one array, stepped in turn: K misses
// are under way at a time.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/verdict.hpp"

namespace chase {

struct alignas(64) Line {
  Line* next;
};

constexpr std::size_t k_max_chains = 16;

struct Settings {
  std::uint64_t size = std::uint64_t{64} << 20;  // bytes
  std::uint64_t steps = 1'000'000;
  std::uint64_t repetitions = 3;
  std::uint64_t chains = 1;
  std::uint64_t seed = 1;
};

using Cursors = std::array<Line*, k_max_chains>;

/// Advances the first `sizeof...(K)` cursors `steps` times. The cursors are named by constants, so that they
/// stay in registers.
template <std::size_t... K>
[[gnu::noinline]] void walk(Cursors& cursors, std::uint64_t steps, std::index_sequence<K...>) {
  std::array<Line*, sizeof...(K)> at{cursors[K]...};
  for (std::uint64_t step = 0; step < steps; ++step) ((at[K] = at[K]->next), ...);
  ((cursors[K] = at[K]), ...);
}

template <std::size_t Chains>
void walk_chains(Cursors& cursors, std::uint64_t steps) {
  walk(cursors, steps, std::make_index_sequence<Chains>{});
}

/// The walk for each number of chains, from 1.
template <std::size_t... N>
constexpr auto make_walks(std::index_sequence<N...>) {
  return std::array{&walk_chains<N + 1>...};
}
constexpr auto k_walks = make_walks(std::make_index_sequence<k_max_chains>{});

/// The lines and the order in which they are visited: chain k takes order[k * length] to
/// order[(k + 1) * length - 1] and then begins again.
class Cycles {
 public:
  explicit Cycles(const Settings& settings)
      : length_(settings.size / sizeof(Line) / settings.chains), lines_(length_ * settings.chains) {
    order_.resize(lines_.size());
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    std::mt19937_64 random(settings.seed);
    // Shuffle by hand: std::shuffle gives different orders in different libraries.
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const bool last_of_chain = i % length_ == length_ - 1;
      line(i).next = &line(last_of_chain ? i + 1 - length_ : i + 1);
    }
  }

  /// The line of chain `chain` after `steps` steps from its first.
  Line* at(std::size_t chain, std::uint64_t steps) { return &line(chain * length_ + steps % length_); }
  std::size_t length() const { return length_; }

 private:
  Line& line(std::size_t visit) { return lines_[order_[visit]]; }

  std::size_t length_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> order_;
};

int run(const Settings& settings) {
  Cycles cycles(settings);
  Cursors cursors{};
  for (std::size_t chain = 0; chain < settings.chains; ++chain) cursors[chain] = cycles.at(chain, 0);

  std::vector<double> times;
  bool verified = true;
  std::uint64_t walked = 0;
  workloads::loop_begin("main");
  for (std::uint64_t repetition = 0; repetition < settings.repetitions; ++repetition) {
    workloads::phase("chase");
    const double begin = workloads::seconds();
    k_walks[settings.chains - 1](cursors, settings.steps);
    times.push_back(workloads::seconds() - begin);
    workloads::phase("check");
    walked += settings.steps;
    for (std::size_t chain = 0; chain < settings.chains; ++chain) {
      verified = verified && cursors[chain] == cycles.at(chain, walked);
    }
  }
  workloads::loop_end();

  const double per_step = 1e9 / static_cast<double>(settings.steps);
  const double best = *std::min_element(times.begin(), times.end()) * per_step;
  const double average =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size()) * per_step;
  const auto chains = static_cast<double>(settings.chains);
  std::printf("Chase: %llu chains of %zu lines, %llu repetitions of %llu steps\n",
              static_cast<unsigned long long>(settings.chains), cycles.length(),
              static_cast<unsigned long long>(settings.repetitions),
              static_cast<unsigned long long>(settings.steps));
  std::printf("Best    %14.6f ns a step %14.6f ns a load\n", best, best / chains);
  std::printf("Average %14.6f ns a step %14.6f ns a load\n", average, average / chains);
  return workloads::verdict(verified);
}

}  // namespace chase

int main(int argc, char** argv) {
  chase::Settings settings;
  workloads::Options options("chase", "pointer chase: the latency of memory");
  options.bytes("--size", &settings.size, "total size of the lines");
  options.count("--steps", &settings.steps, "steps of each chain per repetition");
  options.count("--repetitions", &settings.repetitions, "number of repetitions");
  options.count("--chains", &settings.chains, "independent chains, interleaved, 1 to 16");
  options.count("--seed", &settings.seed, "seed of the random order");
  options.parse(argc, argv);
  if (settings.chains > chase::k_max_chains) options.fail("--chains: at most 16");
  const std::uint64_t lines = settings.size / sizeof(chase::Line);
  if (lines < settings.chains) options.fail("--size: at least 64 bytes for each chain");
  if (lines > UINT32_MAX) options.fail("--size: at most 256GiB");
  return chase::run(settings);
}
