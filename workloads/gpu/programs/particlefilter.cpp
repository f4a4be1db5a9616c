// Implements a particle filter that tracks a disk in a noisy video. Particles are guesses of its position; each
// step moves them at random, weights them by the pixels there, and resamples them by their weights (Rodinia; Che
// et al., "Rodinia: a benchmark suite for heterogeneous computing", IISWC 2009; Goodrum et al., "Parallelization
// of particle filter algorithms", EAMA 2010). One thread per particle; values are doubles, also in what the
// publication calls its float version.
//
// Unlike the published code:
// - `normalize_weights` is three kernels. The published one sums weights that other CTAs may not have normalized
//   yet, and these CTAs may read the first random number before it is written.
// - A position that is a half or more above an integer is rounded up, as the published function intends.
// - The disk and the particles agree on which coordinate is which, and on where the disk is in which frame.
// - CTAs have 128 threads, not 512, so that they are on more processors, except for the size `script`.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_radius = 5;
constexpr std::int32_t k_dark = 100;   // the background
constexpr std::int32_t k_light = 228;  // the disk
// The filter's model of the disk's motion per frame: the motion, and its uncertainty.
constexpr double k_move_x = 1;
constexpr double k_move_y = -2;
constexpr double k_spread_x = 5;
constexpr double k_spread_y = 2;

struct Offset {
  std::int32_t x = 0;
  std::int32_t y = 0;
};

std::vector<Offset> disk() {
  std::vector<Offset> offsets;
  for (std::int32_t x = 1 - k_radius; x < k_radius; ++x)
    for (std::int32_t y = 1 - k_radius; y < k_radius; ++y)
      if (x * x + y * y < k_radius * k_radius) offsets.push_back({x, y});
  return offsets;
}

struct Video {
  std::int32_t width = 0;   // x
  std::int32_t height = 0;  // y
  std::int32_t frames = 0;
  std::vector<std::uint8_t> pixels;  // by x, then y, then frame

  [[nodiscard]] std::size_t at(std::int32_t x, std::int32_t y, std::int32_t frame) const {
    return (static_cast<std::size_t>(x) * height + y) * frames + frame;
  }
  [[nodiscard]] Offset disk_in(std::int32_t frame) const { return {width / 2 + frame, height / 2 - 2 * frame}; }
};

Video make_video(std::int32_t width, std::int32_t height, std::int32_t frames) {
  Video video{width, height, frames, {}};
  std::vector<std::int32_t> pixels(static_cast<std::size_t>(width) * height * frames, k_dark);
  for (std::int32_t frame = 0; frame < frames; ++frame)
    for (const auto& [x, y] : disk())
      pixels.at(video.at(video.disk_in(frame).x + x, video.disk_in(frame).y + y, frame)) = k_light;
  // Noise with a standard deviation of about 5: the sum of four numbers from 0 to 8.
  std::mt19937 random(23);
  for (const auto pixel : pixels) {
    auto noisy = pixel - 16;
    for (int i = 0; i < 4; ++i) noisy += static_cast<std::int32_t>(random() % 9);
    video.pixels.push_back(static_cast<std::uint8_t>(noisy));
  }
  return video;
}

// The published linear congruential generator.
constexpr std::uint32_t k_factor = 1103515245;
constexpr std::uint32_t k_addend = 12345;
constexpr std::int32_t k_modulus = std::numeric_limits<std::int32_t>::max();

// Reference implementation of the filter.
struct PlainFilter {
  explicit PlainFilter(std::vector<std::int32_t> first_seed, const Offset& start)
      : seed(std::move(first_seed)), x(seed.size(), start.x), y(seed.size(), start.y) {}

  void step(const Video& video, std::int32_t frame) {
    const auto count = x.size();
    double sum = 0;
    weights.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] += k_move_x + k_spread_x * normal(seed[i]);
      y[i] += k_move_y + k_spread_y * normal(seed[i]);
      weights[i] = std::exp(likelihood(video, x[i], y[i], frame)) / static_cast<double>(count);
      sum += weights[i];
    }
    moved_x = x;
    moved_y = y;
    std::vector<double> cumulated;
    double below = 0;
    for (auto& weight : weights) cumulated.push_back(below += weight /= sum);
    const auto first = uniform(seed[0]) / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto u = first + static_cast<double>(i) / static_cast<double>(count);
      const auto found = std::ranges::lower_bound(cumulated, u) - cumulated.begin();
      const auto from = std::min(static_cast<std::size_t>(found), count - 1);
      x[i] = moved_x[from];
      y[i] = moved_y[from];
    }
  }

  static double uniform(std::int32_t& seed) {
    seed = static_cast<std::int32_t>(static_cast<std::uint32_t>(seed) * k_factor + k_addend) % k_modulus;
    return std::abs(seed / static_cast<double>(k_modulus));
  }
  static double normal(std::int32_t& seed) {
    const auto u = uniform(seed);
    const auto v = uniform(seed);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }
  static double likelihood(const Video& video, double x, double y, std::int32_t frame) {
    const auto rounded = [](double number) {
      return static_cast<std::int32_t>(number) + (number - std::trunc(number) < 0.5 ? 0 : 1);
    };
    double sum = 0;
    const auto offsets = disk();
    for (const auto& offset : offsets) {
      // Outside of the frame: the pixel that the address leads to; outside of the video: its first pixel.
      const auto row = (rounded(x) + offset.x) * video.height + rounded(y) + offset.y;
      const auto at = std::abs(row * video.frames + frame);
      const auto pixel = video.pixels[static_cast<std::size_t>(at) < video.pixels.size() ? at : 0];
      sum += (std::pow(pixel - k_dark, 2) - std::pow(pixel - k_light, 2)) / 50;
    }
    return sum / static_cast<double>(offsets.size());
  }

  std::vector<std::int32_t> seed;
  std::vector<double> x, y;              // of the resampled particles
  std::vector<double> moved_x, moved_y;  // before the resampling
  std::vector<double> weights;
};

struct Arrays {
  Arrays(Device& device, std::size_t count, const Video& shown, std::size_t offsets, std::int32_t of_a_cta)
      : threads(of_a_cta),
        x(device.array<double>("arrayX", count)),
        y(device.array<double>("arrayY", count)),
        xj(device.array<double>("xj", count)),
        yj(device.array<double>("yj", count)),
        cdf(device.array<double>("CDF", count)),
        u(device.array<double>("u", count)),
        likelihood(device.array<double>("likelihood", count)),
        weights(device.array<double>("weights", count)),
        video(device.array<std::uint8_t>("I", shown.pixels.size())),
        objxy(device.array<std::int32_t>("objxy", 2 * offsets)),
        ind(device.array<std::int32_t>("ind", count * offsets)),
        seed(device.array<std::int32_t>("seed", count)),
        partial_sums(device.array<double>("partial_sums", count)) {}
  std::int32_t threads;  // per CTA
  Array<double> x, y, xj, yj, cdf, u, likelihood, weights;
  Array<std::uint8_t> video;
  Array<std::int32_t> objxy, ind, seed;
  Array<double> partial_sums;
};

Value<double> uniform(Value<std::int32_t>& seed) {
  const Value<std::int32_t> number = fma(Value<std::uint32_t>(seed), k_factor, k_addend);
  seed = number % k_modulus;
  return abs(Value<double>(seed) / static_cast<double>(k_modulus));
}
// Returns a normally distributed number, by the method of Box and Muller.
Value<double> normal(Value<std::int32_t>& seed) {
  const auto u = uniform(seed);
  const auto v = uniform(seed);
  const auto cosine = cos(v * (2 * std::numbers::pi));
  return sqrt(log(u) * -2.0) * cosine;
}

Value<std::int32_t> rounded(const Value<double>& number) {
  const Value<std::int32_t> whole = number;
  if (number - whole < 0.5) return whole;
  return whole + 1;
}

class ParticleFilter final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "particlefilter"; }
  [[nodiscard]] std::string_view title() const override {
    return "Particle filter that follows a disk in a video";
  }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: pixels of a frame in x and y, frames, particles, steps, threads per CTA.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {61, 53, 13, 300, 2, 128}, ""},
        {"paper",
         {128, 128, 10, 8000, 3, 128},
         "8000 particles, not 1000, which are 32 warps; 3 of 9 steps: the "
         "search takes the square of the particles"},
        {"script",
         {128, 128, 10, 1000, 9, 512},
         "Rodinia's run script, -x 128 -y 128 -z 10 -np 1000, and its CTAs"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 4; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto video = make_video(static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1]),
                                  static_cast<std::int32_t>(numbers[2]));
    const auto steps = static_cast<std::int32_t>(numbers[4]);
    if (steps >= video.frames)
      throw Error(Code::invalid, "particlefilter has " + std::to_string(video.frames) +
                                     " frames at this size, for at most " + std::to_string(video.frames - 1) +
                                     " steps, not " + std::to_string(steps));
    const auto offsets = disk();
    const Arrays arrays(device, static_cast<std::size_t>(numbers[3]), video, offsets.size(),
                        static_cast<std::int32_t>(numbers[5]));
    std::ranges::copy(video.pixels, arrays.video.host().begin());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      arrays.objxy.host()[2 * i] = offsets[i].y;
      arrays.objxy.host()[2 * i + 1] = offsets[i].x;
    }
    std::ranges::fill(arrays.xj.host(), video.disk_in(0).x);
    std::ranges::fill(arrays.yj.host(), video.disk_in(0).y);
    std::mt19937 random(29);
    for (auto& seed : arrays.seed.host()) seed = static_cast<std::int32_t>(random() % k_modulus);
    PlainFilter expected({arrays.seed.host().begin(), arrays.seed.host().end()}, video.disk_in(0));

    for (std::int32_t frame = 1; frame <= steps; ++frame) {
      weigh(device, arrays, video, frame);
      sum(device, arrays);
      normalize(device, arrays);
      find_index(device, arrays);
      expected.step(video, frame);
    }
    return compare(arrays, expected, video.disk_in(steps));
  }

 private:
  static std::int32_t particles(const Arrays& a) { return static_cast<std::int32_t>(a.x.size()); }
  static std::int32_t ctas(const Arrays& a) { return (particles(a) + a.threads - 1) / a.threads; }

  // Particles are where plain code has them, up to rounding, and the disk is where they say.
  static std::string compare(const Arrays& a, const PlainFilter& expected, const Offset& truth) {
    Comparison comparison;
    double x = 0;
    double y = 0;
    for (std::size_t i = 0; i < a.x.size(); ++i) {
      comparison.add(a.x.host()[i], expected.moved_x[i]);
      comparison.add(a.y.host()[i], expected.moved_y[i]);
      comparison.add(a.weights.host()[i], expected.weights[i]);
      comparison.add(a.xj.host()[i], expected.x[i]);
      comparison.add(a.yj.host()[i], expected.y[i]);
      comparison.add(a.seed.host()[i], expected.seed[i]);
      x += a.x.host()[i] * a.weights.host()[i];
      y += a.y.host()[i] * a.weights.host()[i];
    }
    if (!(std::hypot(x - truth.x, y - truth.y) < 1))
      throw Error(Code::failed, "wrong results: the disk at " + std::to_string(truth.x) + ", " +
                                    std::to_string(truth.y) + " is taken to be at " + std::to_string(x) + ", " +
                                    std::to_string(y));
    return comparison.verdict("positions, weights and seeds", 1e-10);
  }

  // Moves each particle, and weights it.
  static void weigh(Device& device, const Arrays& a, const Video& video, std::int32_t frame) {
    const auto count = particles(a);
    const auto offsets = static_cast<std::int32_t>(a.objxy.size() / 2);
    const auto pixels = static_cast<std::int32_t>(a.video.size());
    Shared<double> buffer(a.threads);
    device.launch({"likelihood", ctas(a), a.threads, 32, buffer.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto i = t.index();
      const auto lane = t.thread();
      if (i < count) {
        t.store(a.x, i, t.load(a.xj, i));
        t.store(a.y, i, t.load(a.yj, i));
        t.store(a.weights, i, 1.0 / Value<double>(t.own(count)));
        // Stores of positions cannot alias seeds: the compiler keeps a seed in a register.
        auto seed = t.load(a.seed, i);
        const auto x = t.load(a.x, i) + k_move_x;
        t.store(a.x, i, fma(normal(seed), k_spread_x, x));
        const auto y = t.load(a.y, i) + k_move_y;
        t.store(a.y, i, fma(normal(seed), k_spread_y, y));
        t.store(a.seed, i, seed);
      }
      co_await t.barrier();
      if (i < count) {
        const auto x = rounded(t.load(a.x, i));
        const auto y = rounded(t.load(a.y, i));
        const auto first = i * offsets;
        for (const auto o : t.range(0, offsets)) {
          const auto index_x = t.load(a.objxy, fma(o, 2, 1)) + x;
          const auto index_y = t.load(a.objxy, o * 2) + y;
          const auto at = abs(fma(index_x * video.height, video.frames, fma(index_y, video.frames, frame)));
          t.store(a.ind, first + o, at);
          if (at >= pixels) t.store(a.ind, first + o, 0);
        }
        auto sum = t.own(0.0);
        for (const auto o : t.range(0, offsets)) {
          const Value<std::int32_t> pixel = t.load(a.video, t.load(a.ind, first + o));
          const Value<double> above_dark = pixel - k_dark;
          const Value<double> above_light = pixel - k_light;
          sum += fma(above_dark, above_dark, -(above_light * above_light)) / 50.0;
        }
        const auto likelihood = sum / Value<double>(t.own(offsets));
        t.store(a.likelihood, i, likelihood);
        t.store(a.weights, i, t.load(a.weights, i) * exp(likelihood));
      }
      t.write(buffer.span(), lane, 0.0);
      co_await t.barrier();
      if (i < count) t.write(buffer.span(), lane, t.load(a.weights, i));
      co_await t.barrier();
      for (std::int32_t half = a.threads / 2; half > 0; half /= 2) {
        if (lane < half)
          t.write(buffer.span(), lane, t.read(buffer.span(), lane) + t.read(buffer.span(), lane + half));
        co_await t.barrier();
      }
      if (lane == 0) t.store(a.partial_sums, t.block(), t.read(buffer.span(), 0));
    });
  }

  // A single thread sums.
  static void sum(Device& device, const Arrays& a) {
    device.launch({"sum", ctas(a), a.threads, 10}, [&](Thread& t) {
      if (t.index() == 0) {
        auto sum = t.own(0.0);
        for (const auto cta : t.range(0, ctas(a))) sum += t.load(a.partial_sums, cta);
        t.store(a.partial_sums, 0, sum);
      }
    });
  }

  // At the end `u` has evenly spaced numbers; their positions among the cumulated weights select the particles.
  static void normalize(Device& device, const Arrays& a) {
    const auto count = particles(a);
    Shared<double> shared(1);  // what a CTA's first thread loads for all
    device.launch({"normalize_weights", ctas(a), a.threads, 16, shared.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto i = t.index();
      if (t.thread() == 0) t.write(shared.span(), 0, t.load(a.partial_sums, 0));
      co_await t.barrier();
      if (i < count) t.store(a.weights, i, t.load(a.weights, i) / t.read(shared.span(), 0));
    });
    device.launch({"normalize_weights.cdf", 1, a.threads, 16}, [&](Thread& t) {
      if (t.thread() == 0) {
        auto sum = t.load(a.weights, 0);
        t.store(a.cdf, 0, sum);
        for (const auto i : t.range(1, count)) {
          sum = t.load(a.weights, i) + sum;
          t.store(a.cdf, i, sum);
        }
        auto seed = t.load(a.seed, 0);
        t.store(a.u, 0, 1.0 / Value<double>(t.own(count)) * uniform(seed));
        t.store(a.seed, 0, seed);
      }
    });
    device.launch({"normalize_weights.u", ctas(a), a.threads, 16, shared.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto i = t.index();
      if (t.thread() == 0) t.write(shared.span(), 0, t.load(a.u, 0));
      co_await t.barrier();
      if (i < count) t.store(a.u, i, t.read(shared.span(), 0) + Value<double>(i) / Value<double>(t.own(count)));
    });
  }

  static void find_index(Device& device, const Arrays& a) {
    const auto count = particles(a);
    device.launch({"find_index", ctas(a), a.threads, 16}, [&](Thread& t) {
      const auto i = t.index();
      if (i < count) {
        const auto u = t.load(a.u, i);
        auto index = t.own(-1);
        for (const auto x : t.range(0, count))
          if (t.load(a.cdf, x) >= u) {
            index = x;
            break;
          }
        if (index == -1) index = t.own(count - 1);
        t.store(a.xj, i, t.load(a.x, index));
        t.store(a.yj, i, t.load(a.y, index));
      }
    });
  }
};

}  // namespace

const GpuProgram& particlefilter_program() {
  static const ParticleFilter program;
  return program;
}

}  // namespace terrace::gpu_sim
