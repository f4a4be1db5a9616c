// Implements k-means clustering (Rodinia; Che et al., "Rodinia: a benchmark suite for heterogeneous computing",
// IISWC 2009). A kernel transposes the points, whose features are contiguous, to one column per feature. Then, in
// each iteration, one thread per point finds the nearest centre, and the host computes new centres from the
// clusters' points.
//
// Rodinia reads the columns through textures; here they are read as global memory. The centres are in constant
// memory, which causes no access to global memory: an operand of the instruction that uses it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 256;
constexpr std::size_t k_features = 34;
constexpr std::size_t k_clusters = 5;
// nvcc unrolls loops by four: so many features share an addition, a test and a branch, and are loaded before the
// first of them is used, if there is no store in between.
constexpr std::size_t k_unrolled = 4;

using Centres = std::vector<float>;  // cluster by cluster

// Generates points around as many positions as there are clusters, near enough that points change clusters.
std::vector<float> random_points(std::size_t count) {
  std::mt19937 random(13);
  const auto between_0_and_1 = [&] { return static_cast<float>(random() >> 8) / static_cast<float>(1 << 24); };
  std::vector<float> places(k_clusters * k_features);
  for (auto& feature : places) feature = between_0_and_1();
  std::vector<float> points;
  for (std::size_t point = 0; point < count; ++point) {
    const auto place = random() % k_clusters;
    for (std::size_t feature = 0; feature < k_features; ++feature)
      points.push_back(places[place * k_features + feature] + 4 * between_0_and_1());
  }
  return points;
}

// Returns the means of the clusters' points; the old centre for a cluster without points.
Centres means(std::span<const float> points, std::span<const std::int32_t> membership, const Centres& old) {
  Centres sums(old.size(), 0);
  std::vector<float> counts(k_clusters, 0);
  for (std::size_t point = 0; point < membership.size(); ++point) {
    const auto cluster = static_cast<std::size_t>(membership[point]);
    counts[cluster] += 1;
    for (std::size_t feature = 0; feature < k_features; ++feature)
      sums[cluster * k_features + feature] += points[point * k_features + feature];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = counts[i / k_features] > 0 ? sums[i] / counts[i / k_features] : old[i];
  return sums;
}

// Reference implementation.
std::vector<std::int32_t> clustering(std::span<const float> points, std::int64_t iterations) {
  Centres centres(points.begin(), points.begin() + k_clusters * k_features);
  std::vector<std::int32_t> membership(points.size() / k_features);
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t point = 0; point < membership.size(); ++point) {
      auto least = std::numeric_limits<float>::max();
      for (std::size_t cluster = 0; cluster < k_clusters; ++cluster) {
        float distance = 0;
        for (std::size_t feature = 0; feature < k_features; ++feature) {
          const auto difference = points[point * k_features + feature] - centres[cluster * k_features + feature];
          distance += difference * difference;
        }
        if (distance < least) {
          least = distance;
          membership[point] = static_cast<std::int32_t>(cluster);
        }
      }
    }
    centres = means(points, membership, centres);
  }
  return membership;
}

void invert_mapping(Device& device, const Array<float>& input, const Array<float>& output, std::int32_t count) {
  device.launch({"kmeans.invert_mapping", (count + k_threads - 1) / k_threads, k_threads, 12}, [&](Thread& t) {
    const auto point = t.index();
    if (point >= count) return;
    auto from = point * static_cast<std::int32_t>(k_features);
    auto to = point;
    for (const auto first : t.range(std::size_t{0}, k_features, k_unrolled))
      for (auto i = first.needed(); i < std::min(first.needed() + k_unrolled, k_features); ++i) {
        const auto value = t.load(input, from);
        t.store(output, to, value);
        from += 1;
        to += count;
      }
  });
}

void assign(Device& device, const Array<float>& features, const Centres& centres,
            const Array<std::int32_t>& membership, std::int32_t count) {
  // Rodinia's grid is a square, the smallest one that is large enough.
  const auto ctas = (count + k_threads - 1) / k_threads;
  const auto side = static_cast<std::int32_t>(std::ceil(std::sqrt(ctas)));
  device.launch({"kmeans.assign", side * side, k_threads, 18}, [&](Thread& t) {
    const auto point = t.index();
    if (point >= count) return;
    auto nearest = t.own(-1);
    auto least = t.own(std::numeric_limits<float>::max());
    for (const auto cluster : t.range(std::size_t{0}, k_clusters)) {
      auto distance = t.own(0.0F);
      auto at = point;
      for (const auto first : t.range(std::size_t{0}, k_features, k_unrolled)) {
        const auto loaded = std::min(k_unrolled, k_features - first.needed());
        std::array<Value<float>, k_unrolled> values;
        for (std::size_t i = 0; i < loaded; ++i) {
          values[i] = t.load(features, at);
          at += count;
        }
        for (std::size_t i = 0; i < loaded; ++i) {
          const auto difference = values[i] - centres[cluster.needed() * k_features + first.needed() + i];
          distance = fma(difference, difference, distance);
        }
      }
      const bool is_nearer = distance < least;
      least = choose(is_nearer, distance, least);
      nearest = choose<std::int32_t>(is_nearer, cluster, nearest);
    }
    t.store(membership, point, nearest);
  });
}

class Kmeans final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "kmeans"; }
  [[nodiscard]] std::string_view title() const override { return "k-means clustering"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: points, iterations.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {1000, 3}, ""},
        {"paper", {494020, 2}, "random points, as many as Rodinia's kdd_cup has; the first two iterations"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 1; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto count = static_cast<std::size_t>(numbers[0]);
    const auto points = random_points(count);
    auto flipped = device.array<float>("feature_flipped", points.size());
    auto features = device.array<float>("feature", points.size());
    auto membership = device.array<std::int32_t>("membership", count);
    // Rodinia allocates the centres in global memory too, and copies them there; its kernel reads constant memory.
    auto clusters = device.array<float>("clusters", k_clusters * k_features);
    std::copy(points.begin(), points.end(), flipped.host().begin());
    invert_mapping(device, flipped, features, static_cast<std::int32_t>(count));

    Centres centres(points.begin(), points.begin() + k_clusters * k_features);
    for (std::int64_t iteration = 0; iteration < numbers[1]; ++iteration) {
      std::copy(centres.begin(), centres.end(), clusters.host().begin());
      assign(device, features, centres, membership, static_cast<std::int32_t>(count));
      centres = means(points, membership.host(), centres);
    }

    const auto expected = clustering(points, numbers[1]);
    Comparison comparison;
    for (std::size_t point = 0; point < count; ++point) comparison.add(membership.host()[point], expected[point]);
    return comparison.verdict("clusters of points", 0);
  }
};

}  // namespace

const GpuProgram& kmeans_program() {
  static const Kmeans program;
  return program;
}

}  // namespace terrace::gpu_sim
