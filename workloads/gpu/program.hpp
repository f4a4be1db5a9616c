// A program for GPUs: its kernels, written from the published algorithm, the sizes that it is run at, and what its
// results are checked against. Each is a file of its own in programs/, which defines `const GpuProgram&
// NAME_program()`; the build makes the table of them (cmake/Variants.cmake).
//
// Inputs are made by a random generator with a fixed seed, so that every run is the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "gpu_sim/simt/device.hpp"

namespace terrace::gpu_sim {

// By name: "test" runs in a tenth of a second; "paper" is the input that the benchmark is published with, or,
// where that takes longer than 30 million warp instructions, the part of it that `about` says.
struct ProgramSize {
  std::string_view name;
  std::vector<std::int64_t> numbers;  // what they are is up to the program
  std::string_view about;
};

class GpuProgram {
 public:
  virtual ~GpuProgram() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view title() const = 0;
  // Where the algorithm is published.
  [[nodiscard]] virtual std::string_view source() const = 0;
  [[nodiscard]] virtual const std::vector<ProgramSize>& sizes() const = 0;
  // Runs all its kernels and compares the results with those of plain code. Returns what was compared, in a line.
  // Throws Error{failed} where a result is wrong.
  [[nodiscard]] virtual std::string run(Device& device, const std::vector<std::int64_t>& numbers) const = 0;

  // Throws Error{invalid} naming those that there are.
  [[nodiscard]] const ProgramSize& size(std::string_view name) const;
  // Which of a size's numbers says how often the program does the same with the same data; none where it does not.
  [[nodiscard]] virtual std::optional<std::size_t> iterations() const { return std::nullopt; }
  // Those of a size, with `times` as many iterations. Throws Error{invalid} also where there are no iterations and
  // `times` is not 1, and where it is not from 1 to k_max_times.
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view size, std::int64_t times) const;
};

inline constexpr std::int64_t k_max_times = 1000;

// All of them, by name.
const std::vector<const GpuProgram*>& gpu_programs();
// Throws Error{invalid} naming those that there are.
const GpuProgram& find_gpu_program(std::string_view name);

// How far results are from those of plain code.
class Comparison {
 public:
  // Of a number and what it should be, relative to the larger of the two and `floor`.
  void add(double result, double expected, double floor = 1e-30);
  // The line for the user. Throws Error{failed} where the largest is above `most`.
  [[nodiscard]] std::string verdict(const std::string& what, double most) const;

 private:
  std::uint64_t count_ = 0;
  double largest_ = 0;
};

}  // namespace terrace::gpu_sim
