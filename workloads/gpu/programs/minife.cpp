// Implements miniFE: conjugate gradients for heat conduction in a brick of trilinear hexahedra (Heroux et al.,
// "Improving performance via mini-applications", Sandia report SAND2009-5574, 2009). Each node is a row of the
// matrix, with the up to 27 nodes of its elements as columns. As in the benchmark's GPU version, the matrix is in
// ELL format: one thread per row, and the k-th entries of all rows are contiguous, so that a warp's accesses to
// the matrix coalesce; rows with fewer columns are padded with -1. Kernels: matvec, waxpby and dot, which sums by
// CTA and then in one CTA.
//
// The temperature is 1 on the brick's face at the end of x and 0 on the other faces; rows of their nodes are those
// of the identity, and keep their columns with coefficients of 0. Elements have edges of length 1, so that the
// rows of both kinds are of the same magnitude: in a brick of length 1 rounding errors of the fixed nodes grow
// nearly fifty times per iteration, and no two orders of addition give the same residuals.
#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_threads = 256;
constexpr std::int32_t k_max_ctas = 4096;      // of matvec; with more rows than threads, a thread has several
constexpr std::int32_t k_waxpby_ctas = 32768;  // the same for waxpby
constexpr std::int32_t k_dot_threads = 512;
constexpr std::int32_t k_dot_ctas = 1024;  // also the threads of the CTA that sums the CTAs' results
constexpr std::int32_t k_columns = 27;

using Doubles = Array<double>;
using Place = std::array<std::int32_t, 3>;  // of a node or an element: x, y, z

// One dimension of the brick.
struct Edge {
  std::int32_t elements;
  [[nodiscard]] bool ends_at(std::int32_t node) const { return node == 0 || node == elements; }
  // Return integrals over the edge of the products of two nodes' functions, and of their derivatives.
  [[nodiscard]] double mass(std::int32_t i, std::int32_t j) const {
    return (i != j ? 1 : ends_at(i) ? 2 : 4) / 6.0;
  }
  [[nodiscard]] double stiffness(std::int32_t i, std::int32_t j) const { return i != j ? -1 : ends_at(i) ? 1 : 2; }
};

struct Brick {
  std::array<Edge, 3> edges;
  [[nodiscard]] std::int32_t nodes(std::size_t dimension) const { return edges[dimension].elements + 1; }
  [[nodiscard]] std::int32_t rows() const { return nodes(0) * nodes(1) * nodes(2); }
  [[nodiscard]] std::int32_t row(const Place& at) const { return at[0] + nodes(0) * (at[1] + nodes(1) * at[2]); }
  [[nodiscard]] Place place(std::int32_t row) const {
    return {row % nodes(0), row / nodes(0) % nodes(1), row / nodes(0) / nodes(1)};
  }
  [[nodiscard]] bool has(const Place& at) const {
    for (std::size_t d = 0; d < 3; ++d)
      if (at[d] < 0 || at[d] >= nodes(d)) return false;
    return true;
  }
  [[nodiscard]] bool fixed(const Place& at) const {
    for (std::size_t d = 0; d < 3; ++d)
      if (edges[d].ends_at(at[d])) return true;
    return false;
  }
  [[nodiscard]] double temperature(const Place& at) const { return at[0] == nodes(0) - 1 ? 1 : 0; }
  // Returns the integral of the product of two nodes' gradients.
  [[nodiscard]] double coefficient(const Place& a, const Place& b) const {
    double sum = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      double product = edges[d].stiffness(a[d], b[d]);
      for (std::size_t other = 0; other < 3; ++other)
        if (other != d) product *= edges[other].mass(a[other], b[other]);
      sum += product;
    }
    return sum;
  }
};

struct Matrix {
  std::int32_t rows;
  std::int32_t pitch;  // distance of a row's entries: rows, rounded up to full lines
  Array<std::int32_t> cols;
  Doubles coefs;
};

void assemble(const Brick& brick, const Matrix& matrix, const Doubles& b) {
  std::ranges::fill(matrix.cols.host(), -1);
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    const auto at = brick.place(row);
    const bool fixed = brick.fixed(at);
    double right = fixed ? brick.temperature(at) : 0;
    std::int32_t offset = row;
    for (std::int32_t k = 0; k < k_columns; ++k) {
      const Place other{at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1};
      if (!brick.has(other)) continue;
      matrix.cols.host()[offset] = brick.row(other);
      auto& coef = matrix.coefs.host()[offset];
      offset += matrix.pitch;
      if (fixed || brick.fixed(other)) {
        coef = at == other ? 1 : 0;
        if (!fixed) right -= brick.coefficient(at, other) * brick.temperature(other);
      } else {
        coef = brick.coefficient(at, other);
      }
    }
    b.host()[row] = right;
  }
}

// Reference implementation: the product with the matrix element by element, without a matrix.
std::vector<double> product(const Brick& brick, const std::vector<double>& x) {
  std::vector<bool> fixed(x.size());
  auto free = x;
  for (std::int32_t row = 0; row < brick.rows(); ++row) {
    fixed[row] = brick.fixed(brick.place(row));
    if (fixed[row]) free[row] = 0;
  }
  std::vector<double> y(x.size());
  std::array<std::array<double, 8>, 8> element{};  // corner c is at x + c % 2, y + c / 2 % 2, z + c / 4
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t c = 0; c < 8; ++c) {
      const auto differ = a ^ c;
      const auto mass = [&](std::size_t bit) { return (differ & bit) != 0 ? 1.0 / 6 : 1.0 / 3; };
      const auto sign = [&](std::size_t bit) { return (differ & bit) != 0 ? -1.0 : 1.0; };
      element[a][c] = sign(1) * mass(2) * mass(4) + mass(1) * sign(2) * mass(4) + mass(1) * mass(2) * sign(4);
    }
  std::array<std::int32_t, 8> corners{};
  for (std::int32_t k = 0; k < brick.edges[2].elements; ++k)
    for (std::int32_t j = 0; j < brick.edges[1].elements; ++j)
      for (std::int32_t i = 0; i < brick.edges[0].elements; ++i) {
        for (std::int32_t c = 0; c < 8; ++c) corners[c] = brick.row({i + c % 2, j + c / 2 % 2, k + c / 4});
        for (std::size_t a = 0; a < 8; ++a)
          for (std::size_t c = 0; c < 8; ++c) y[corners[a]] += element[a][c] * free[corners[c]];
      }
  for (std::int32_t row = 0; row < brick.rows(); ++row)
    if (fixed[row]) y[row] = x[row];
  return y;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

struct Solution {
  std::vector<double> x;
  std::vector<double> r;
};

Solution solve(const Brick& brick, std::span<const double> b, std::int64_t iterations) {
  Solution s{std::vector<double>(b.size()), {b.begin(), b.end()}};
  auto p = s.r;
  auto rtrans = dot(s.r, s.r);
  for (std::int64_t k = 0; k < iterations; ++k) {
    const auto q = product(brick, p);
    const auto alpha = rtrans / dot(q, p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      s.x[i] += alpha * p[i];
      s.r[i] -= alpha * q[i];
    }
    const auto next = dot(s.r, s.r);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = s.r[i] + next / rtrans * p[i];
    rtrans = next;
  }
  return s;
}

class Minife final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "minife"; }
  [[nodiscard]] std::string_view title() const override {
    return "Conjugate gradients for finite elements of a brick";
  }
  [[nodiscard]] std::string_view source() const override { return "miniFE: Heroux et al., SAND2009-5574"; }
  // Numbers: elements in x, y and z, iterations.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{
        {"test", {13, 9, 10, 5}, ""},
        {"paper", {60, 60, 60, 6}, "60 x 60 x 60 elements, 226 981 rows, and 6 of the at most 200 iterations"}};
    return sizes;
  }

  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 3; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    Brick brick{};
    for (std::size_t d = 0; d < 3; ++d) brick.edges[d].elements = static_cast<std::int32_t>(numbers[d]);
    const auto iterations = numbers[3];
    const auto rows = brick.rows();
    const auto size = static_cast<std::size_t>(rows);
    const auto pitch = (rows + 31) / 32 * 32;
    const auto elements = static_cast<std::size_t>(pitch) * k_columns;
    const Matrix a{rows, pitch, device.array<std::int32_t>("A.cols", elements),
                   device.array<double>("A.coefs", elements)};
    const auto b = device.array<double>("b", size);
    const auto x = device.array<double>("x", size);
    const auto r = device.array<double>("r", size);
    const auto p = device.array<double>("p", size);
    const auto ap = device.array<double>("Ap", size);
    const auto d = device.array<double>("d", k_dot_ctas);
    assemble(brick, a, b);

    waxpby(device, 1, x, 0, x, p);
    matvec(device, a, p, ap);
    waxpby(device, 1, b, -1, ap, r);
    auto rtrans = dot_product(device, r, r, d);
    const auto residual_before = std::sqrt(rtrans);
    for (std::int64_t k = 1; k <= iterations; ++k) {
      if (k == 1) {
        waxpby(device, 1, r, 0, r, p);
      } else {
        const auto old = rtrans;
        rtrans = dot_product(device, r, r, d);
        waxpby(device, 1, r, rtrans / old, p, p);
      }
      matvec(device, a, p, ap);
      const auto alpha = rtrans / dot_product(device, ap, p, d);
      waxpby(device, 1, x, alpha, p, x);
      waxpby(device, 1, r, -alpha, ap, r);
    }

    const auto expected = solve(brick, b.host(), iterations);
    Comparison comparison;
    // Residuals are rounded relative to the first, not to the current one (A. Greenbaum, SIAM J. Matrix Anal.
    // Appl. 18(3), 1997).
    for (std::size_t i = 0; i < size; ++i) {
      comparison.add(x.host()[i], expected.x[i], 1e-6);
      comparison.add(r.host()[i], expected.r[i], residual_before / std::sqrt(rows));
    }
    // The true residual, without the recursion of the method.
    const std::vector<double> found(x.host().begin(), x.host().end());
    const auto ax = product(brick, found);
    double square = 0;
    for (std::size_t i = 0; i < size; ++i) square += (b.host()[i] - ax[i]) * (b.host()[i] - ax[i]);
    comparison.add(std::sqrt(square), std::sqrt(dot(expected.r, expected.r)), residual_before);
    if (!(std::sqrt(square) < residual_before))
      throw Error(Code::failed, "the residual grows from " + std::to_string(residual_before) + " to " +
                                    std::to_string(std::sqrt(square)));
    return comparison.verdict("temperatures and residuals", 1e-12);
  }

 private:
  static std::int32_t ctas(std::size_t size, std::int32_t threads, std::int32_t most) {
    return std::min((static_cast<std::int32_t>(size) + threads - 1) / threads, most);
  }

  static void matvec(Device& device, const Matrix& a, const Doubles& x, const Doubles& y) {
    const auto grid = ctas(x.size(), k_threads, k_max_ctas);
    device.launch({"matvec_ell", grid, k_threads, 26}, [&](Thread& t) {
      for (const auto row : t.range(t.index(), a.rows, grid * k_threads)) {
        auto sum = t.own(0.0);
        auto offset = row;
        for (const auto k : t.range(0, k_columns)) {
          static_cast<void>(k);
          const auto c = t.load(a.cols, offset);
          if (c != -1) {
            const auto coef = t.load(a.coefs, offset);
            sum = fma(coef, t.load(x, c), sum);
          }
          offset += a.pitch;
        }
        t.store(y, row, sum);
      }
    });
  }

  // Computes w = alpha x + beta y.
  static void waxpby(Device& device, double alpha, const Doubles& x, double beta, const Doubles& y,
                     const Doubles& w) {
    const auto grid = ctas(x.size(), k_threads, k_waxpby_ctas);
    device.launch({"waxpby", grid, k_threads, 14}, [&](Thread& t) {
      for (const auto i : t.range(t.index(), static_cast<std::int32_t>(x.size()), grid * k_threads)) {
        const auto xi = t.load(x, i);
        const auto yi = t.load(y, i);
        t.store(w, i, fma(alpha, xi, beta * yi));
      }
    });
  }

  static double dot_product(Device& device, const Doubles& x, const Doubles& y, const Doubles& d) {
    std::ranges::fill(d.host(), 0.0);
    const auto grid = ctas(x.size(), k_dot_threads, k_dot_ctas);
    Shared<double> sums(k_dot_threads);
    device.launch({"dot", grid, k_dot_threads, 16, sums.bytes()}, [&](Thread& t) -> ThreadRun {
      auto sum = t.own(0.0);
      for (const auto i : t.range(t.index(), static_cast<std::int32_t>(x.size()), grid * k_dot_threads)) {
        const auto xi = t.load(x, i);
        sum = fma(xi, t.load(y, i), sum);
      }
      t.write(sums.span(), t.thread(), sum);
      for (std::int32_t half = k_dot_threads / 2; half > 0; half /= 2) {
        co_await t.barrier();
        add_other(t, sums, sum, half);
      }
      if (t.thread() == 0) t.store(d, t.block(), sum);
    });
    Shared<double> all(k_dot_ctas);
    device.launch({"dot_final_reduce", 1, k_dot_ctas, 12, all.bytes()}, [&](Thread& t) -> ThreadRun {
      auto sum = t.load(d, t.thread());
      t.write(all.span(), t.thread(), sum);
      for (std::int32_t half = k_dot_ctas / 2; half > 0; half /= 2) {
        co_await t.barrier();
        add_other(t, all, sum, half);
      }
      if (t.thread() == 0) t.store(d, 0, sum);
    });
    return d.host()[0];
  }

  // One step of the reduction over a CTA, in its first `half` threads. The benchmark needs no barrier for the last
  // five, within a warp; here lanes run one after the other.
  static void add_other(Thread& t, Shared<double>& sums, Value<double>& sum, std::int32_t half) {
    const auto i = t.thread();
    if (!(i < half)) return;
    sum += t.read(sums.span(), i + half);
    t.write(sums.span(), i, sum);
  }
};

}  // namespace

const GpuProgram& minife_program() {
  static const Minife program;
  return program;
}

}  // namespace terrace::gpu_sim
