// Tensor: CP-ALS (als.hpp) on a sparse tensor of order three with planted factors (elements.hpp). An iteration
// improves each factor in turn, mttkrp.1, solve.1, mttkrp.2 and so on, and finds the fit. It begins at the planted
// factors with as much noise added, since from anywhere the sum of squares may have other minima (Kolda and Bader,
// section 3.4).
//
// Verified against the elements one by one: the fit, and that the last factor is the best one beside the others;
// that the fit never gets worse, as least squares cannot make it; and that in the end it is no worse than the
// planted factors', whose distance from the tensor is the noise's.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"
#include "tensor/als.hpp"
#include "tensor/elements.hpp"
#include "tensor/truth.hpp"

namespace tensor {

// Iterations after which the fit reaches the planted one's, up to k_converged.
constexpr std::uint64_t k_enough = 10;
constexpr double k_converged = 1e-6;

struct Settings {
  std::uint64_t scale = 18;
  std::uint64_t rank = 16;
  std::uint64_t iterations = 10;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

bool never_falls(const std::vector<double>& fits) {
  constexpr double k_rounding = 1e-12;
  for (std::size_t i = 1; i < fits.size(); ++i) {
    if (!(fits[i] >= fits[i - 1] - k_rounding)) return false;
  }
  return true;
}

/// Prints what the factorisation gave, and says whether it is right.
bool check(const Planted& planted, const Model& model, const std::vector<double>& fits) {
  constexpr double k_tolerance = 1e-11;
  const double fit = fits.back();
  const double error = std::abs(fit - fit_of(planted, model));
  const double defect = defect_of(planted, model);
  const double planted_fit = 1.0 - planted.noise / std::sqrt(squares_of(planted));
  const bool enough = fits.size() >= k_enough;
  std::printf("Fit %.9f, error %.1e; planted %.9f%s\n", fit, error, planted_fit,
              enough ? "" : ": not compared, below 10 iterations");
  std::printf("Normal equations: largest error %.1e, tolerance %.0e\n", defect, k_tolerance);
  return error <= k_tolerance && defect <= k_tolerance && never_falls(fits) &&
         (!enough || fit >= planted_fit - k_converged);
}

int run(const Settings& settings) {
  const Planted planted = make_planted(settings.scale, settings.rank, settings.seed);
  const Slices first(planted, 0);
  const Slices second(planted, 1);
  const Slices third(planted, 2);
  Model model(planted, workloads::mix(settings.seed + 1));
  const double squares = squares_of(planted);
  std::vector<double> fits(settings.iterations);

  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (double& fit : fits) {
    workloads::phase("mttkrp.1");
    model.mttkrp(0, first);
    workloads::phase("solve.1");
    model.solve(0);
    workloads::phase("mttkrp.2");
    model.mttkrp(1, second);
    workloads::phase("solve.2");
    model.solve(1);
    workloads::phase("mttkrp.3");
    model.mttkrp(2, third);
    workloads::phase("solve.3");
    model.solve(2);
    workloads::phase("fit");
    fit = model.fit(squares);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  std::printf("Tensor: %llu x %llu x %llu, %zu elements, rank %llu, %llu iterations\n",
              static_cast<unsigned long long>(planted.sides[0]), static_cast<unsigned long long>(planted.sides[1]),
              static_cast<unsigned long long>(planted.sides[2]), planted.elements.size(),
              static_cast<unsigned long long>(planted.rank), static_cast<unsigned long long>(settings.iterations));
  std::printf("Time %14.9f s %14.0f elements a second\n", end - begin,
              3.0 * static_cast<double>(planted.elements.size() * settings.iterations) / (end - begin));
  return workloads::verdict(check(planted, model, fits));
}

}  // namespace tensor

int main(int argc, char** argv) {
  tensor::Settings settings;
  workloads::Options options("tensor", "CP-ALS: a sparse tensor as a sum of rank-one tensors");
  options.count("--scale", &settings.scale, "2^N elements, N from 12 to 28");
  options.count("--rank", &settings.rank, "number of rank-one tensors, up to 64");
  options.count("--iterations", &settings.iterations, "number of ALS iterations");
  options.count("--seed", &settings.seed, "seed of the tensor and of the initial factors");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.scale < 12 || settings.scale > 28) options.fail("--scale: from 12 to 28");
  if (settings.rank > tensor::k_max_rank) options.fail("--rank: at most 64");
  if (!tensor::fits(settings.scale, settings.rank)) options.fail("--rank: too many for this --scale");
  return tensor::run(settings);
}
