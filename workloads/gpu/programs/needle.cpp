// Implements the Needleman-Wunsch alignment of two sequences by dynamic programming (Rodinia's needle; Che et al.,
// "Rodinia: a benchmark suite for heterogeneous computing", IISWC 2009). A CTA of 16 threads computes a block of
// 16 x 16 scores in shared memory, diagonal by diagonal; a kernel computes a diagonal of blocks, which depend on
// the blocks above, to the left and in between. One kernel is for the upper left half of the matrix, the other for
// the lower right half.
//
// Scores of pairs of letters are random, symmetric and between -4 and 11, as BLOSUM62's are. Sequences are padded
// to a multiple of 16 letters; scores do not depend on the padding.
#include <algorithm>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_block = 16;
constexpr std::int32_t k_letters = 24;

// The alignment problem of two sequences.
struct Problem {
  std::int32_t columns = 0;              // of the matrices, equals the rows: one per letter, after the first
  std::int32_t penalty = 0;              // of a gap
  std::vector<std::int32_t> pair_score;  // of a row's letter and a column's
};

Problem random_problem(std::int32_t letters, std::int32_t penalty) {
  std::mt19937 random(13);
  std::vector<std::int32_t> table(k_letters * k_letters);
  for (std::int32_t i = 0; i < k_letters; ++i)
    for (std::int32_t j = 0; j <= i; ++j)
      table[i * k_letters + j] = table[j * k_letters + i] = static_cast<std::int32_t>(random() % 16) - 4;
  const auto columns = letters + 1;
  std::vector<std::int32_t> down(columns);
  std::vector<std::int32_t> across(columns);
  for (auto& letter : down) letter = static_cast<std::int32_t>(random() % k_letters);
  for (auto& letter : across) letter = static_cast<std::int32_t>(random() % k_letters);
  Problem problem{columns, penalty, std::vector<std::int32_t>(static_cast<std::size_t>(columns) * columns)};
  for (std::int32_t row = 1; row < columns; ++row)
    for (std::int32_t column = 1; column < columns; ++column)
      problem.pair_score[row * columns + column] = table[down[row] * k_letters + across[column]];
  return problem;
}

std::vector<std::int32_t> alignment_scores(const Problem& problem) {
  const auto columns = problem.columns;
  std::vector<std::int32_t> score(problem.pair_score.size());
  for (std::int32_t i = 0; i < columns; ++i) score[i] = score[i * columns] = -i * problem.penalty;
  for (std::int32_t row = 1; row < columns; ++row)
    for (std::int32_t column = 1; column < columns; ++column) {
      const auto at = row * columns + column;
      const auto pair = score[at - columns - 1] + problem.pair_score[at];
      score[at] = std::max({pair, score[at - 1] - problem.penalty, score[at - columns] - problem.penalty});
    }
  return score;
}

class Needle final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "needle"; }
  [[nodiscard]] std::string_view title() const override { return "Needleman-Wunsch alignment of two sequences"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Numbers: letters of a sequence, penalty of a gap.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {150, 10}, ""},
                                                {"paper", {2048, 10}, "Rodinia's run script"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto letters = static_cast<std::int32_t>(numbers[0]);
    const auto blocks = (letters + k_block - 1) / k_block;  // in a row of the matrix
    const auto problem = random_problem(blocks * k_block, static_cast<std::int32_t>(numbers[1]));
    const auto columns = problem.columns;
    auto referrence = device.array<std::int32_t>("referrence", problem.pair_score.size());
    auto matrix_cuda = device.array<std::int32_t>("matrix_cuda", problem.pair_score.size());
    std::ranges::copy(problem.pair_score, referrence.host().begin());
    for (std::int32_t i = 0; i < columns; ++i)
      matrix_cuda.host()[i] = matrix_cuda.host()[i * columns] = -i * problem.penalty;

    for (std::int32_t diagonal = 1; diagonal <= blocks; ++diagonal)
      diagonal_of_blocks(device, "upper_left", referrence, matrix_cuda, problem, diagonal, 0, diagonal - 1);
    for (std::int32_t diagonal = blocks - 1; diagonal >= 1; --diagonal)
      diagonal_of_blocks(device, "lower_right", referrence, matrix_cuda, problem, diagonal, blocks - diagonal,
                         blocks - 1);

    const auto expected = alignment_scores(problem);
    Comparison comparison;
    for (std::int32_t row = 0; row <= letters; ++row)
      for (std::int32_t column = 0; column <= letters; ++column)
        comparison.add(matrix_cuda.host()[row * columns + column], expected[row * columns + column]);
    return comparison.verdict("scores", 0);
  }

 private:
  // Computes `count` blocks, from the one at (first_column, first_row) upwards to the right. The published kernels
  // for the two halves of the matrix differ only in the position of this first block.
  static void diagonal_of_blocks(Device& device, const std::string& name, const Array<std::int32_t>& referrence,
                                 const Array<std::int32_t>& matrix, const Problem& problem, std::int32_t count,
                                 std::int32_t first_column, std::int32_t first_row) {
    constexpr std::int32_t row_of_temp = k_block + 1;
    const auto columns = problem.columns;
    const auto penalty = problem.penalty;
    Shared<std::int32_t> temp(static_cast<std::size_t>(row_of_temp) * row_of_temp);
    Shared<std::int32_t> ref(static_cast<std::size_t>(k_block) * k_block);
    // Returns a score of the block, counted from 1 on.
    const auto make_score = [&](Thread& t, const Value<std::int32_t>& x, const Value<std::int32_t>& y) {
      const auto cell = fma(y, row_of_temp, x);
      const auto diagonal =
          t.read(temp.span(), cell - (row_of_temp + 1)) + t.read(ref.span(), fma(y, k_block, x) - (k_block + 1));
      const auto left = t.read(temp.span(), cell - 1) - penalty;
      const auto above = t.read(temp.span(), cell - row_of_temp) - penalty;
      t.write(temp.span(), cell, max(max(diagonal, left), above));
    };
    device.launch({name, count, k_block, 20, temp.bytes() + ref.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto x = t.thread();
      const auto north_west = fma(first_row - t.block(), columns * k_block, (t.block() + first_column) * k_block);
      const auto index = north_west + x + (columns + 1);
      if (x == 0) t.write(temp.span(), x, t.load(matrix, north_west));
      for (const auto y : t.range(0, k_block))
        t.write(ref.span(), fma(y, k_block, x), t.load(referrence, fma(y, columns, index)));
      co_await t.barrier();
      t.write(temp.span(), (x + 1) * row_of_temp, t.load(matrix, fma(x, columns, north_west + columns)));
      co_await t.barrier();
      t.write(temp.span(), x + 1, t.load(matrix, north_west + x + 1));
      co_await t.barrier();
      for (std::int32_t last = 0; last < k_block; ++last) {
        if (x <= last) make_score(t, x + 1, last - x + 1);
        co_await t.barrier();
      }
      for (std::int32_t last = k_block - 2; last >= 0; --last) {
        if (x <= last) make_score(t, x + k_block - last, k_block - x);
        co_await t.barrier();
      }
      for (const auto y : t.range(0, k_block))
        t.store(matrix, fma(y, columns, index), t.read(temp.span(), fma(y + 1, row_of_temp, x + 1)));
    });
  }
};

}  // namespace

const GpuProgram& needle_program() {
  static const Needle program;
  return program;
}

}  // namespace terrace::gpu_sim
