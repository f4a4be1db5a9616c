// Declares a GPU program: its kernels, written from the published algorithm, its problem sizes, and the check of
// its results. Each program is a file in programs/, which defines `const GpuProgram& NAME_program()`; the build
// generates the table of programs (cmake/Variants.cmake).
//
// Inputs come from a random generator with a fixed seed, so that every run is the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "gpu_sim/simt/device.hpp"

namespace terrace::gpu_sim {

// A problem size by name: "test" runs in a tenth of a second; "paper" is the input that the benchmark is published
// with or, if that takes longer than 30 million warp instructions, the part of it that `about` states.
struct ProgramSize {
  std::string_view name;
  std::vector<std::int64_t> numbers;  // defined by the program
  std::string_view about;
};

class GpuProgram {
 public:
  virtual ~GpuProgram() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view title() const = 0;
  // Returns the publication of the algorithm.
  [[nodiscard]] virtual std::string_view source() const = 0;
  [[nodiscard]] virtual const std::vector<ProgramSize>& sizes() const = 0;
  // Runs all kernels and compares the results with those of plain code. Returns what was compared, in one line.
  // Throws Error{failed} if a result is wrong.
  [[nodiscard]] virtual std::string run(Device& device, const std::vector<std::int64_t>& numbers) const = 0;

  // Throws Error{invalid} that names the sizes.
  [[nodiscard]] const ProgramSize& size(std::string_view name) const;
  // Returns which number of a size is the count of iterations over the same data; empty if there is none.
  [[nodiscard]] virtual std::optional<std::size_t> iterations() const { return std::nullopt; }
  // Returns the numbers of a size with `times` as many iterations. Throws Error{invalid} also if the program has
  // no iterations and `times` is not 1, and if it is not in [1, k_max_times].
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view size, std::int64_t times) const;
};

inline constexpr std::int64_t k_max_times = 1000;

// Returns all programs, by name.
const std::vector<const GpuProgram*>& gpu_programs();
// Throws Error{invalid} that names the programs.
const GpuProgram& find_gpu_program(std::string_view name);

// Measures the error of results against those of plain code.
class Comparison {
 public:
  // Adds the error of a result, relative to the larger of both values and `floor`.
  void add(double result, double expected, double floor = 1e-30);
  // Returns a line for the user. Throws Error{failed} if the largest error is above `most`.
  [[nodiscard]] std::string verdict(const std::string& what, double most) const;

 private:
  std::uint64_t count_ = 0;
  double largest_ = 0;
};

}  // namespace terrace::gpu_sim
