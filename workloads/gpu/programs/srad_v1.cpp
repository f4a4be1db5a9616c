// Implements SRAD, first version: speckle reducing anisotropic diffusion, which smooths an ultrasound image and
// keeps its edges (Yu and Acton, IEEE TIP 2002; Rodinia: Che et al., "Rodinia: a benchmark suite for heterogeneous
// computing", IISWC 2009). Images are stored column by column. An iteration sums the image and its squares by a
// kernel that is repeated until one number is left, computes diffusion coefficients, and updates the image.
//
// Unlike in the published code, the last CTA of `reduce`, when it adds the elements after the largest power of
// two, uses the sums at their stride in the second pass, too; the published kernel reads adjacent elements there.
// Constants are floats, not doubles. The image is a bright ellipse with random speckles.
#include <algorithm>
#include <cmath>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 512;
constexpr float k_lambda = 0.5F;  // as Rodinia's run script has it

struct Image {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::vector<float> pixels;  // 0 to 255

  [[nodiscard]] std::int32_t size() const { return rows * columns; }
};

Image speckled_image(std::int32_t rows, std::int32_t columns) {
  Image image{rows, columns, {}};
  std::mt19937 random(19);
  for (std::int32_t column = 0; column < columns; ++column)
    for (std::int32_t row = 0; row < rows; ++row) {
      const auto y = 4.0 * row / rows - 2;
      const auto x = 4.0 * column / columns - 2;
      const auto bright = x * x + y * y < 1 ? 200 : 80;
      const auto pixel = bright * (75 + random() % 51) / 100;
      image.pixels.push_back(static_cast<float>(pixel));
    }
  return image;
}

// Reference implementation in double precision.
std::vector<double> smoothed(const Image& image, std::int32_t iterations) {
  std::vector<double> now;
  for (const auto pixel : image.pixels) now.push_back(std::exp(double{pixel} / 255));
  const auto rows = image.rows;
  // Returns a neighbouring pixel; beyond the border the pixel itself.
  const auto difference = [&](std::int32_t row, std::int32_t column, std::int32_t down, std::int32_t right) {
    const auto to_row = std::clamp(row + down, 0, rows - 1);
    const auto to_column = std::clamp(column + right, 0, image.columns - 1);
    return now[to_column * rows + to_row] - now[column * rows + row];
  };
  for (std::int32_t iteration = 0; iteration < iterations; ++iteration) {
    double sum = 0;
    double squares = 0;
    for (const auto pixel : now) {
      sum += pixel;
      squares += pixel * pixel;
    }
    const auto mean = sum / image.size();
    const auto q0 = (squares / image.size() - mean * mean) / (mean * mean);
    std::vector<double> coefficient(now.size());
    for (std::int32_t column = 0; column < image.columns; ++column)
      for (std::int32_t row = 0; row < rows; ++row) {
        const auto pixel = now[column * rows + row];
        double gradient = 0;
        double laplacian = 0;
        for (const auto& [down, right] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
          const auto step = difference(row, column, down, right) / pixel;
          gradient += step * step;
          laplacian += step;
        }
        const auto q = (gradient / 2 - laplacian * laplacian / 16) / std::pow(1 + laplacian / 4, 2);
        coefficient[column * rows + row] = std::clamp(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0.0, 1.0);
      }
    auto next = now;
    for (std::int32_t column = 0; column < image.columns; ++column)
      for (std::int32_t row = 0; row < rows; ++row) {
        const auto at = column * rows + row;
        const auto below = coefficient[column * rows + std::min(row + 1, rows - 1)];
        const auto right = coefficient[std::min(column + 1, image.columns - 1) * rows + row];
        const auto flow = coefficient[at] * (difference(row, column, -1, 0) + difference(row, column, 0, -1)) +
                          below * difference(row, column, 1, 0) + right * difference(row, column, 0, 1);
        next[at] += double{k_lambda} / 4 * flow;
      }
    now = std::move(next);
  }
  for (auto& pixel : now) pixel = std::log(pixel) * 255;
  return now;
}

struct Arrays {
  Arrays(Device& device, const Image& start)
      : image(device.array<float>("d_I", start.size())),
        i_n(device.array<std::int32_t>("d_iN", start.rows)),
        i_s(device.array<std::int32_t>("d_iS", start.rows)),
        j_e(device.array<std::int32_t>("d_jE", start.columns)),
        j_w(device.array<std::int32_t>("d_jW", start.columns)),
        sums(device.array<float>("d_sums", start.size())),
        sums2(device.array<float>("d_sums2", start.size())),
        d_n(device.array<float>("d_dN", start.size())),
        d_s(device.array<float>("d_dS", start.size())),
        d_w(device.array<float>("d_dW", start.size())),
        d_e(device.array<float>("d_dE", start.size())),
        c(device.array<float>("d_c", start.size())) {
    for (std::int32_t row = 0; row < start.rows; ++row) {
      i_n.host()[row] = std::max(row - 1, 0);
      i_s.host()[row] = std::min(row + 1, start.rows - 1);
    }
    for (std::int32_t column = 0; column < start.columns; ++column) {
      j_w.host()[column] = std::max(column - 1, 0);
      j_e.host()[column] = std::min(column + 1, start.columns - 1);
    }
    std::ranges::copy(start.pixels, image.host().begin());
  }
  Array<float> image;
  Array<std::int32_t> i_n, i_s, j_e, j_w;  // row or column of the pixel above, below, to the right, to the left
  Array<float> sums, sums2;                // of pixels and of their squares
  Array<float> d_n, d_s, d_w, d_e;         // differences to these four pixels
  Array<float> c;                          // diffusion coefficients
};

// Returns the position of an element of a matrix that is stored column by column.
struct Place {
  Value<std::int32_t> row;
  Value<std::int32_t> column;
};

Place place_of_element(Thread& t, const Value<std::int32_t>& i, std::int32_t rows) {
  const auto column = (i + 1) / t.own(rows);
  const auto row = fma(column, -rows, i + 1);
  if (row == 0) return {t.own(rows - 1), column - 1};
  return {row - 1, column};
}

std::int32_t ctas_for(std::int32_t elements) { return (elements + k_threads - 1) / k_threads; }

class SradV1 final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "srad_v1"; }
  [[nodiscard]] std::string_view title() const override { return "Speckle reducing anisotropic diffusion"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: rows, columns, iterations.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {61, 53, 2}, ""},
                                                {"paper", {502, 458, 10}, "10 of 100 iterations"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 2; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto image =
        speckled_image(static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1]));
    const auto iterations = static_cast<std::int32_t>(numbers[2]);
    const Arrays arrays(device, image);
    Comparison comparison;
    extract(device, arrays.image);
    for (std::int32_t iteration = 0; iteration < iterations; ++iteration) {
      prepare(device, arrays);
      reduce_all(device, arrays);
      const auto total = arrays.sums.host()[0];
      const auto total2 = arrays.sums2.host()[0];
      compare_totals(comparison, arrays);
      const auto pixels = static_cast<float>(image.size());
      const auto mean = total / pixels;
      const auto variance = total2 / pixels - mean * mean;
      srad(device, arrays, image.rows, variance / (mean * mean));
      srad2(device, arrays, image.rows);
    }
    compress(device, arrays.image);

    // In single precision, q0 is known to about six digits.
    const auto expected = smoothed(image, iterations);
    for (std::size_t i = 0; i < expected.size(); ++i) comparison.add(double{arrays.image.host()[i]}, expected[i]);
    return comparison.verdict("sums and pixels", 1e-5);
  }

 private:
  static void compare_totals(Comparison& comparison, const Arrays& arrays) {
    double sum = 0;
    double squares = 0;
    for (const auto pixel : arrays.image.host()) {
      sum += double{pixel};
      squares += double{pixel} * double{pixel};
    }
    comparison.add(double{arrays.sums.host()[0]}, sum);
    comparison.add(double{arrays.sums2.host()[0]}, squares);
  }

  static void extract(Device& device, const Array<float>& image) {
    const auto size = static_cast<std::int32_t>(image.size());
    device.launch({"extract", ctas_for(size), k_threads, 10}, [&, size](Thread& t) {
      const auto i = t.index();
      if (i < size) t.store(image, i, exp(t.load(image, i) / 255.0F));
    });
  }

  static void compress(Device& device, const Array<float>& image) {
    const auto size = static_cast<std::int32_t>(image.size());
    device.launch({"compress", ctas_for(size), k_threads, 10}, [&, size](Thread& t) {
      const auto i = t.index();
      if (i < size) t.store(image, i, log(t.load(image, i)) * 255.0F);
    });
  }

  // The compiler cannot prove that the arrays do not overlap: the pixel is loaded again after the store.
  static void prepare(Device& device, const Arrays& a) {
    const auto size = static_cast<std::int32_t>(a.image.size());
    device.launch({"prepare", ctas_for(size), k_threads, 10}, [&, size](Thread& t) {
      const auto i = t.index();
      if (i < size) {
        t.store(a.sums, i, t.load(a.image, i));
        const auto pixel = t.load(a.image, i);
        t.store(a.sums2, i, pixel * pixel);
      }
    });
  }

  static void reduce_all(Device& device, const Arrays& arrays) {
    std::int32_t stride = 1;  // of what is left to add
    for (auto left = static_cast<std::int32_t>(arrays.image.size());; left = ctas_for(left)) {
      reduce(device, arrays, left, stride);
      if (ctas_for(left) == 1) return;
      stride *= k_threads;
    }
  }

  // Each CTA sums 512 elements. The last one, if it has fewer, sums as many as the largest power of two in the
  // same way, and the rest sequentially.
  static void reduce(Device& device, const Arrays& a, std::int32_t count, std::int32_t stride) {
    const auto ctas = ctas_for(count);
    const auto in_last = count - (ctas - 1) * k_threads;
    Shared<float> psum(k_threads);
    Shared<float> psum2(k_threads);
    device.launch({"reduce", ctas, k_threads, 16, psum.bytes() + psum2.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto x = t.thread();
      const auto i = t.index();
      if (i < count) {
        t.write(psum.span(), x, t.load(a.sums, i * stride));
        t.write(psum2.span(), x, t.load(a.sums2, i * stride));
      }
      co_await t.barrier();
      const bool is_full = in_last == k_threads || t.block() < ctas - 1;
      std::int32_t power = k_threads;
      if (!is_full) {
        power = 1;
        for (std::int32_t p = 2; p <= k_threads; p *= 2)
          if (t.own(in_last) >= p) power = p;
      }
      for (std::int32_t p = 2; p <= power; p *= 2) {
        if (((x + 1) & (p - 1)) == 0 && (is_full || x < power)) {
          t.write(psum.span(), x, t.read(psum.span(), x) + t.read(psum.span(), x - p / 2));
          t.write(psum2.span(), x, t.read(psum2.span(), x) + t.read(psum2.span(), x - p / 2));
        }
        co_await t.barrier();
      }
      if (x == power - 1) {
        if (!is_full) {
          const auto first = t.block() * k_threads;
          for (const auto rest : t.range(first + power, first + in_last)) {
            const auto sum = t.load(a.sums, rest * stride);
            t.write(psum.span(), x, t.read(psum.span(), x) + sum);
            const auto sum2 = t.load(a.sums2, rest * stride);
            t.write(psum2.span(), x, t.read(psum2.span(), x) + sum2);
          }
        }
        const auto to = t.block() * stride * k_threads;
        t.store(a.sums, to, t.read(psum.span(), x));
        t.store(a.sums2, to, t.read(psum2.span(), x));
      }
    });
  }

  static void srad(Device& device, const Arrays& a, std::int32_t rows, float q0) {
    const auto size = static_cast<std::int32_t>(a.image.size());
    device.launch({"srad", ctas_for(size), k_threads, 24}, [&, size, rows, q0](Thread& t) {
      const auto i = t.index();
      const auto [row, column] = place_of_element(t, i, rows);
      if (i < size) {
        const auto pixel = t.load(a.image, i);
        const auto north_row = t.load(a.i_n, row);
        const auto north = t.load(a.image, fma(column, rows, north_row)) - pixel;
        const auto south_row = t.load(a.i_s, row);
        const auto south = t.load(a.image, fma(column, rows, south_row)) - pixel;
        const auto west_column = t.load(a.j_w, column);
        const auto west = t.load(a.image, fma(west_column, rows, row)) - pixel;
        const auto east_column = t.load(a.j_e, column);
        const auto east = t.load(a.image, fma(east_column, rows, row)) - pixel;
        const auto squares = fma(east, east, fma(west, west, fma(south, south, north * north)));
        const auto gradient = squares / (pixel * pixel);
        const auto laplacian = (north + south + west + east) / pixel;
        const auto numerator = fma(laplacian * laplacian, -0.0625F, gradient * 0.5F);
        const auto denominator = fma(laplacian, 0.25F, 1.0F);
        const auto q = numerator / (denominator * denominator);
        const auto excess = (q - q0) / (t.own(q0) * (t.own(q0) + 1.0F));
        auto coefficient = 1.0F / (excess + 1.0F);
        if (coefficient < 0.0F)
          coefficient = t.own(0.0F);
        else if (coefficient > 1.0F)
          coefficient = t.own(1.0F);
        t.store(a.d_n, i, north);
        t.store(a.d_s, i, south);
        t.store(a.d_w, i, west);
        t.store(a.d_e, i, east);
        t.store(a.c, i, coefficient);
      }
    });
  }

  static void srad2(Device& device, const Arrays& a, std::int32_t rows) {
    const auto size = static_cast<std::int32_t>(a.image.size());
    device.launch({"srad2", ctas_for(size), k_threads, 20}, [&, size, rows](Thread& t) {
      const auto i = t.index();
      const auto [row, column] = place_of_element(t, i, rows);
      if (i < size) {
        const auto here = t.load(a.c, i);
        const auto south_row = t.load(a.i_s, row);
        const auto south = t.load(a.c, fma(column, rows, south_row));
        const auto east_column = t.load(a.j_e, column);
        const auto east = t.load(a.c, fma(east_column, rows, row));
        auto flow = here * t.load(a.d_n, i);
        flow = fma(south, t.load(a.d_s, i), flow);
        flow = fma(here, t.load(a.d_w, i), flow);
        flow = fma(east, t.load(a.d_e, i), flow);
        t.store(a.image, i, fma(t.own(0.25F * k_lambda), flow, t.load(a.image, i)));
      }
    });
  }
};

}  // namespace

const GpuProgram& srad_v1_program() {
  static const SradV1 program;
  return program;
}

}  // namespace terrace::gpu_sim
