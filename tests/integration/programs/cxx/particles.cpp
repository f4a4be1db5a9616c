// Implements the particles: pushes, deposits and trails. See particles.hpp.
#include "particles.hpp"

#include <numeric>

Particles::Particles() : position_(k_count, 0.0), charge_(new double[k_count]) {
  for (std::size_t i = 0; i < k_count; ++i) charge_[i] = 1.0;
}

[[gnu::noinline]] void Particles::push() {
  for (int pass = 0; pass < 6; ++pass) {
    for (double& position : position_) position += 1.0;
  }
  for (std::size_t i = 0; i < k_count; ++i) charge_[i] = 3.0 - charge_[i];
}

[[gnu::noinline]] void Particles::deposit(Cells& cells) const {
  for (std::size_t i = 0; i < k_count; i += 4) cells.add(static_cast<std::uint32_t>(i / 4), charge_[i]);
}

[[gnu::noinline]] void Particles::record() {
  for (std::size_t i = 0; i < k_count; i += 64) {
    try {
      trail_.append(position_[i]);
    } catch (const std::length_error&) {
      ++overflows_;
      trail_.clear();
      trail_.append(position_[i]);
    }
  }
}

double Particles::checksum() const {
  return std::accumulate(position_.begin(), position_.end(), 0.0) +
         std::accumulate(charge_.get(), charge_.get() + k_count, 0.0) +
         std::accumulate(trail_.begin(), trail_.end(), 0.0) + overflows_;
}
