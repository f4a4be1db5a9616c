// Coverage of bounds from samples: random programs with known exact counts, observed by the collector of `record`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "../observe/collected_program.hpp"
#include "model/uncertainty/loop_bound.hpp"
#include "model/uncertainty/resampling.hpp"
#include "observe/collecting/exact_collector.hpp"
#include "observe/collecting/load_sampling_collector.hpp"

namespace terrace::model {
namespace {

constexpr std::uint32_t k_chunks = 48, k_objects = 4, k_phases = 3, k_iterations = 2;
constexpr std::uint64_t k_chunk = 1u << 20;
constexpr std::size_t k_misses = 8000, k_quantum = 1000;

enum class Mix { alike, objects_differ, chunks_differ, few_hot };

// A program of several iterations. Each phase accesses chunks in slow memory at random, by the mix, and sweeps
// through all of them. Observed exactly, and by a collector with a given number of load samples per iteration.
class SampledProgram {
 public:
  SampledProgram(std::uint32_t seed, Mix mix, double samples, bool drifts = false)
      : machine_(observe::example_machine()), random_(seed) {
    for (std::uint32_t c = 0; c < k_chunks; ++c) chunks_.add(k_chunk * c, k_chunk, 0, 0, 1);
    meet(mix, drifts);
    std::vector<Seconds> times(misses_.size(), Seconds{1});
    auto exact = collect(observe::ExactCollector(machine_, 0, 1, chunks_), times);
    Seconds sum{0};
    for (std::size_t i = 0; i < misses_.size(); ++i) {
      auto& phase = exact[i / k_phases].phases[i % k_phases];
      const auto problem = make({exact[i / k_phases]}, true);
      times[i] = Seconds{load_of_slow(problem, i % k_phases)};
      phase.time = times[i];
      sum += times[i];
    }
    interval_ = sum * (1 / (samples * k_iterations));
    truth = make(exact, true);
    const auto sampled =
        collect(observe::LoadSamplingCollector(machine_, 0, 1, chunks_, interval_, {}, seed), times);
    estimate = make(sampled, false);
    for (const auto& iteration : sampled) iterations.push_back(make({iteration}, false));
  }

  Problem truth, estimate;
  std::vector<Problem> iterations;  // of the estimate

 private:
  static double load_of_slow(const Problem& problem, std::size_t phase) {
    const auto time = phase_time(problem, phase, Placement(problem.items.size(), 1));
    return std::max(time.core + time.exposed, time.bandwidth);
  }

  void meet(Mix mix, bool drifts) {
    std::normal_distribution<> normal(0, 1);
    std::vector<std::vector<double>> shares(k_phases);
    for (auto& of_phase : shares) {
      double of_object = 1;
      for (std::uint32_t c = 0; c < k_chunks; ++c) {
        if (c % (k_chunks / k_objects) == 0 && mix != Mix::alike) of_object = std::exp(normal(random_));
        const bool hot = mix == Mix::few_hot && c % 12 == 0;
        const auto of_chunk = mix == Mix::chunks_differ ? std::exp(normal(random_)) : hot ? 20 : 1;
        of_phase.push_back(of_object * of_chunk);
      }
    }
    for (std::size_t i = 0; i < k_iterations * k_phases; ++i) {
      auto of_phase = shares[i % k_phases];
      for (std::size_t c = 0; drifts && c < k_chunks; ++c)
        if (c / (k_chunks / k_iterations) != i / k_phases) of_phase[c] = 0;
      std::discrete_distribution<std::uint32_t> pick(of_phase.begin(), of_phase.end());
      auto& misses = misses_.emplace_back();
      for (std::size_t m = 0; m < k_misses; ++m) {
        const auto line = static_cast<std::uint16_t>(random_());
        if (m % 4 == 0 && !drifts)
          misses.push_back(
              {static_cast<std::uint32_t>(m * k_chunks / k_misses), line, 0, observe::MissKind::prefetched});
        else
          misses.push_back(
              {pick(random_), line, static_cast<std::uint8_t>(random_()), observe::MissKind::dependent});
      }
    }
  }

  template <class Collector>
  std::vector<observe::Iteration> collect(Collector collector, const std::vector<Seconds>& times) const {
    std::vector<observe::Iteration> all;
    for (std::size_t i = 0; i < misses_.size(); ++i) {
      if (i % k_phases == 0) collector.begin_iteration(static_cast<std::uint32_t>(i / k_phases));
      collector.begin_phase("phase" + std::to_string(i % k_phases));
      for (auto from = misses_[i].begin(); from != misses_[i].end(); from += k_quantum)
        observe::run(collector, {from, from + k_quantum}, 30 * k_quantum, {20 * k_quantum, 0, 0, 0});
      collector.end_phase(times[i]);
      if (i % k_phases == k_phases - 1) all.push_back(collector.take_iteration());
    }
    return all;
  }

  Problem make(const std::vector<observe::Iteration>& observed, bool is_exact) const {
    profile::Profile profile;
    profile.exact = is_exact;
    profile.loop = "loop";
    profile.iterations = observed;
    if (!is_exact) profile.sample_interval = interval_;
    constexpr auto each = k_chunks / k_objects;
    for (std::uint32_t o = 0; o < k_objects; ++o)
      profile.objects.push_back({o, "object" + std::to_string(o), observe::ObjectKind::heap, Bytes{each * k_chunk},
                                 Bytes{k_chunk}, o * each, each, true});
    profile.places.assign(k_chunks, 1);
    return make_problem(profile, machine_, {Bytes{k_chunks / 4 * k_chunk}, Bytes{1ull << 40}});
  }

  machine::Machine machine_;
  memory::ChunkTable chunks_;
  std::mt19937 random_;
  Seconds interval_{0};
  std::vector<std::vector<observe::Miss>> misses_;  // by iteration and phase
};

// Compares at the same prices, so that only the counts differ: any prices prove a bound.
TEST(BoundCoverage, SampledPrograms_StatedBoundIsBelowTheExactOne) {
  const std::vector<double> all(k_phases, 1);
  int held = 0, programs = 0;
  double loose = 0;
  for (const auto mix : {Mix::alike, Mix::objects_differ, Mix::chunks_differ, Mix::few_hot}) {
    for (const double samples : {100, 400, 1600}) {
      for (std::uint32_t seed = 1; seed <= 25; ++seed) {
        const SampledProgram seen(seed, mix, samples);
        ASSERT_TRUE(seen.estimate.counted);
        double slow = 0;
        for (const auto& phase : seen.estimate.phases) slow += phase.measured.value;
        const auto prices = lower_bound(seen.estimate, 0.8 * slow, {.passes = 60}).prices;
        const auto exact = loop_bound(seen.truth, all, all, 8, prices).stated;
        const auto stated = loop_bound(seen.estimate, all, all, 8, prices).stated;
        held += stated <= exact;
        loose += samples < 1000 ? 0 : (exact - stated) / exact;
        ++programs;
      }
    }
  }
  EXPECT_GE(held, k_bound_confidence * programs);
  EXPECT_LT(loose / (programs / 3), 0.06) << "a bound of 0 holds, too";
}

TEST(Resampling, Draws_CountedPhase_KeepTotals) {
  const SampledProgram seen(1, Mix::chunks_differ, 100);
  const Resampling samples(seen.estimate);
  const auto drawn = samples.draw(3);
  for (const auto value : {&ItemCell::exposure, &ItemCell::read_bytes, &ItemCell::streamed_bytes}) {
    for (std::size_t k = 0; k < k_phases; ++k) {
      const auto sum = [&](const Problem& problem) {
        const auto& cells = problem.phases[k].cells;
        return std::accumulate(cells.begin(), cells.end(), 0.0,
                               [&](double so_far, const ItemCell& cell) { return so_far + cell.*value; });
      };
      EXPECT_NEAR(sum(samples.unpooled()), sum(seen.estimate), 1e-9 * sum(seen.estimate));
      EXPECT_NEAR(sum(drawn), sum(seen.estimate), 1e-9 * sum(seen.estimate));
    }
  }
  EXPECT_NE(dump_json(drawn), dump_json(samples.unpooled()));
  EXPECT_EQ(dump_json(drawn), dump_json(samples.draw(3)));
}

// Each of the two iterations uses its own half of the data, or both use all.
TEST(IterationDifference, OwnDataInEachIteration_IsLarge) {
  for (const double samples : {100, 400}) {
    EXPECT_GT(iteration_difference(SampledProgram(1, Mix::chunks_differ, samples, true).iterations), 0.25);
    for (const auto mix : {Mix::alike, Mix::chunks_differ, Mix::few_hot})
      EXPECT_LT(iteration_difference(SampledProgram(1, mix, samples).iterations), 0.1);
  }
}

}  // namespace
}  // namespace terrace::model
