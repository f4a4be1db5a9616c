// Declares what the programs of this folder report of a run on a PIM device: row cycles, and rows in use.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "pim/vector.hpp"

namespace terrace::pim {

struct Report {
  Cycles cycles;
  std::uint32_t rows = 0;  // per subarray: operands, results and scratch
};

// Measures a run from construction to report(), and counts the rows that it uses.
class Run {
 public:
  Run(Array& array, const Blocks& blocks) : array_(array), blocks_(blocks), before_(array.cycles()) {}

  void uses(const Vector& vector) { report_.rows += extent_of(array_.geometry(), vector).rows; }
  // Throws Error{invalid} if the block is smaller than requested.
  Block block(const Shape& shape) {
    const auto block = blocks_(shape);
    if (block.shape.rows < shape.rows || block.shape.subarrays < shape.subarrays)
      throw Error(Code::invalid, "requested were " + std::to_string(shape.rows) + " rows in " +
                                     std::to_string(shape.subarrays) + " subarrays, given " +
                                     std::to_string(block.shape.rows) + " in " +
                                     std::to_string(block.shape.subarrays));
    report_.rows += shape.rows;
    return block;
  }
  Vector mask(const Vector& over) {
    auto shape = extent_of(array_.geometry(), over);
    shape.rows = shape.rows / (over.dim == Dim::vertical ? over.bits : 1);
    return mask_over(over, block(shape));
  }
  Block scratch(const Vector& like) {
    return block({scratch_rows(like.dim), extent_of(array_.geometry(), like).subarrays});
  }
  Vector align_to(const Vector& vector, const Vector& target) {
    if (is_row_aligned(array_.geometry(), vector, target)) uses(vector);
    return pim::align_to(array_, vector, target, [this](const Shape& shape) { return block(shape); });
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
