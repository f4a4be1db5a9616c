// Transforms NPB FT's cube in blocks of lines that fit a cache: copied out of the cube, transformed between two
// buffers, copied back. The k-th elements of a block's lines lie side by side, so inner loops run over the lines.
#include "ft/fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/threads.hpp"

namespace ft {
namespace {

constexpr std::uint64_t k_block = 16;  // lines; the benchmark's own number

/// Where a block of neighbouring lines begins, and how far apart their elements, and they themselves, lie.
struct Block {
  std::uint64_t begin;
  std::uint64_t stride;
  std::uint64_t next_line;
};

/// Blocks are counted along the first dimension that is not transformed, then along the other one.
Block block_at(const Shape& shape, int dimension, std::uint64_t number) {
  const int along = dimension == 0 ? 1 : 0;
  const int across = dimension == 2 ? 1 : 2;
  const std::uint64_t per_row = shape.n[along] / k_block;
  return {number % per_row * k_block * shape.stride(along) + number / per_row * shape.stride(across),
          shape.stride(dimension), shape.stride(along)};
}

void copy_out(const Complex* cube, const Block& block, std::uint64_t n, Complex* lines) {
  for (std::uint64_t k = 0; k < n; ++k) {
    const Complex* const at = cube + block.begin + k * block.stride;
    for (std::uint64_t line = 0; line < k_block; ++line) lines[k * k_block + line] = at[line * block.next_line];
  }
}

void copy_back(const Complex* lines, const Block& block, std::uint64_t n, Complex* cube) {
  for (std::uint64_t k = 0; k < n; ++k) {
    Complex* const at = cube + block.begin + k * block.stride;
    for (std::uint64_t line = 0; line < k_block; ++line) at[line * block.next_line] = lines[k * k_block + line];
  }
}

}  // namespace

Plan::Plan(const Shape& shape, std::uint64_t threads)
    : shape_(shape),
      roots_(*std::max_element(shape.n.begin(), shape.n.end()) / 2),
      scratch_(2 * block_size() * threads) {
  const double angle = std::numbers::pi / static_cast<double>(roots_.size());
  for (std::uint64_t k = 0; k < roots_.size(); ++k) {
    roots_[k] = {std::cos(angle * static_cast<double>(k)), std::sin(angle * static_cast<double>(k))};
  }
}

std::uint64_t Plan::block_size() const { return 2 * roots_.size() * k_block; }

/// Transforms a block of lines of n elements, between two buffers; returns the one with the result. Each pass
/// joins sums and turned differences of elements half a line apart; those with the same turn lie in groups, which
/// double in size from pass to pass. The lines themselves are the first group.
Complex* Plan::transform_block(std::uint64_t n, Direction direction, Complex* from, Complex* to) const {
  const std::uint64_t half = n / 2 * k_block;
  std::uint64_t root_step = 2 * roots_.size() / n;
  for (std::uint64_t group = k_block; group <= half; group *= 2) {
    for (std::uint64_t begin = 0; begin < half; begin += group) {
      const Complex root = roots_[begin / group * root_step];
      const Complex turn = direction == Direction::forward ? root : conjugate(root);
      const Complex* const low = from + begin;
      const Complex* const high = from + begin + half;
      Complex* const sums = to + 2 * begin;
      Complex* const differences = sums + group;
      for (std::uint64_t i = 0; i < group; ++i) {
        sums[i] = low[i] + high[i];
        differences[i] = turn * (low[i] - high[i]);
      }
    }
    root_step *= 2;
    std::swap(from, to);
  }
  return from;
}

// Never inlined, so that it keeps its name at run time.
[[gnu::noinline]] void Plan::transform(int dimension, Direction direction, const Field& from, Field& to) {
  const std::uint64_t n = shape_.n[dimension];
  const std::uint64_t blocks = shape_.points() / n / k_block;
#pragma omp parallel for schedule(static)
  for (std::uint64_t number = 0; number < blocks; ++number) {
    Complex* const buffer = scratch_.data() + 2 * block_size() * workloads::thread_number();
    const Block block = block_at(shape_, dimension, number);
    copy_out(from.data(), block, n, buffer);
    const Complex* const result = transform_block(n, direction, buffer, buffer + block_size());
    copy_back(result, block, n, to.data());
  }
}

}  // namespace ft
