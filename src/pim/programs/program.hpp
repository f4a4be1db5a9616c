// What every program of this folder tells of its run.
#pragma once

#include <cstdint>

#include "pim/vector.hpp"

namespace terrace::pim {

struct Report {
  Cycles cycles;
  std::uint32_t rows = 0;  // of each subarray it works in: its operands there, its results and its scratch
};

// Measures a run from where it is made to report(), and counts the rows it works in.
class Run {
 public:
  Run(Array& array, const Blocks& blocks) : array_(array), blocks_(blocks), before_(array.cycles()) {}

  void uses(const Vector& vector) { report_.rows += extent_of(array_.geometry(), vector).rows; }
  Block block(const Shape& shape) {
    report_.rows += shape.rows;
    return blocks_(shape);
  }
  Block scratch(const Vector& like) {
    return block({scratch_rows(like.dim), extent_of(array_.geometry(), like).subarrays});
  }
  Vector brought_beside(const Vector& vector, const Vector& target) {
    if (beside(array_.geometry(), vector, target)) uses(vector);
    return pim::brought_beside(array_, vector, target, [this](const Shape& shape) { return block(shape); });
  }
  [[nodiscard]] Report report() {
    report_.cycles = array_.cycles() - before_;
    return report_;
  }

 private:
  Array& array_;
  const Blocks& blocks_;
  Cycles before_;
  Report report_;
};

}  // namespace terrace::pim
