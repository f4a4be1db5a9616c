// Test fixture: stacks vectors in an array.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "pim/vector.hpp"

namespace terrace::pim::testing {

using Values = std::vector<std::uint64_t>;

inline constexpr Geometry k_small{.rows = 512, .columns = 72, .subarrays = 2, .banks = 3, .devices = 2};
inline constexpr Geometry k_paper{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};

inline std::uint64_t all_of(std::uint32_t bits) { return ~std::uint64_t{0} >> (64 - bits); }

struct Case {
  Geometry geometry;
  std::uint64_t count;
  std::uint32_t bits;
  Dim dim;
  std::uint32_t subarray = 1;

  [[nodiscard]] std::string name() const {
    return describe(geometry) + ", " + std::to_string(count) + " of " + std::to_string(bits) + " bits, " +
           (dim == Dim::vertical ? "vertical" : "horizontal");
  }
};

// Stacks vectors; scratch rows are at the bottom.
struct Bench {
  explicit Bench(const Case& which, std::uint32_t seed = 1)
      : shape(which), array(which.geometry), random(seed), alu(array, scratch()) {}

  [[nodiscard]] Block scratch() const {
    const auto rows = scratch_rows(shape.dim);
    return {0, shape.subarray, shape.geometry.rows - rows, {rows, shape.geometry.width() - shape.subarray}};
  }
  Vector vector(std::uint32_t bits = 0) {
    if (bits == 0) bits = shape.bits;
    auto geometry = shape.geometry;
    geometry.banks = 1;  // a shape that fits beside the first subarrays
    geometry.subarrays = shape.geometry.width() - shape.subarray;
    const Block block{0, shape.subarray, next, shape_of_elements(geometry, shape.count, bits, shape.dim)};
    next += block.shape.rows;
    return {block, shape.count, bits, shape.dim, 0};
  }
  Vector mask() { return vector(shape.dim == Dim::vertical ? 1 : shape.bits); }
  Values drawn() {
    Values values(shape.count);
    for (auto& value : values) {
      // Includes extremes and nearly equal values, which produce long carries.
      const auto kind = random() % 8;
      value = kind == 0 ? 0 : kind == 1 ? all_of(shape.bits) : kind == 2 ? random() % 4 : random();
      value &= all_of(shape.bits);
    }
    return values;
  }
  Vector written(const Values& values) {
    const auto result = vector();
    write(array, result, values);
    return result;
  }

  Case shape;
  Array array;
  std::mt19937_64 random;
  std::uint32_t next = 3;
  Alu alu;
};

inline std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto dim : {Dim::vertical, Dim::horizontal})
    for (const std::uint32_t bits : {1, 2, 7, 8, 13, 32, 63, 64}) {
      result.push_back({k_small, 5, bits, dim});
      result.push_back({k_small, 200, bits, dim});
      if (bits <= 32) result.push_back({k_small, 401, bits, dim, 2});  // vertically two layers of four and two
    }
  return result;
}

inline void expect_refused(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    FAIL() << "not refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

}  // namespace terrace::pim::testing
