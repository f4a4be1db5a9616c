// SPDX-License-Identifier: Apache-2.0
// Makes the quanta (batches of accesses with their cache misses) of STREAM's kernels and of a pointer chase, for
// the calibration and for tests of the time law. See synthetic_generator.hpp.
#include "sim/engine/synthetic_generator.hpp"

namespace terrace::sim {

using observe::MissKind;

std::uint32_t arrays_read(StreamKernel kernel) {
  return kernel == StreamKernel::add || kernel == StreamKernel::triad ? 2 : 1;
}

bool writes(StreamKernel kernel) { return kernel != StreamKernel::sum; }

void SyntheticGenerator::miss(const SyntheticArray& array, std::uint32_t line, MissKind kind,
                              std::uint8_t weight) {
  misses_.push_back({array.first + line / array.chunk_lines, static_cast<std::uint16_t>(line % array.chunk_lines),
                     weight, kind});
  if (kind != MissKind::writeback) ++missed_;
}

void SyntheticGenerator::add_accesses(std::uint64_t accesses) {
  accesses_ += accesses;
  if (accesses_ >= quantum_accesses_) flush();
}

void SyntheticGenerator::flush() {
  if (accesses_ == 0 && misses_.empty()) return;
  observe::Quantum quantum;
  quantum.accesses = accesses_;
  quantum.instructions = observe::k_instructions_per_access * accesses_;
  quantum.hits[0] = accesses_ - missed_;
  quantum.misses = misses_;
  sink_.quantum(quantum);
  accesses_ = 0;
  missed_ = 0;
  misses_.clear();
}

void SyntheticGenerator::stream(StreamKernel kernel, std::span<const SyntheticArray> arrays) {
  const std::uint64_t elements = line_.value / sizeof(double);  // of each array, a line
  for (std::uint32_t line = 0; line < arrays[0].lines; ++line) {
    for (const auto& array : arrays) miss(array, line, MissKind::prefetched);
    if (writes(kernel)) miss(arrays.back(), line, MissKind::writeback);
    add_accesses(elements * arrays.size());
  }
}

void SyntheticGenerator::chase(const SyntheticArray& array, std::uint64_t hops) {
  for (std::uint64_t hop = 0; hop < hops; ++hop) {
    generator_ = generator_ * 6364136223846793005u + 1442695040888963407u;
    const auto line = static_cast<std::uint32_t>(((generator_ >> 32) * array.lines) >> 32);
    miss(array, line, MissKind::dependent, 255);
    add_accesses(1);
  }
}

}  // namespace terrace::sim
