// Particles that are pushed, leave their charge in cells, and leave a trail.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cells.hpp"
#include "trail.hpp"

class Particles {
 public:
  static constexpr std::size_t k_count = std::size_t{1} << 17;
  static constexpr std::size_t k_trail_limit = 5000;

  Particles();

  void push();                       // the hot phase: position is passed over six times
  void deposit(Cells& cells) const;  // every fourth particle
  void record();                     // every 64th particle; begins the trail anew when it is full

  double checksum() const;

 private:
  std::vector<double> position_;
  std::unique_ptr<double[]> charge_;
  Trail<double> trail_{k_trail_limit};
  int overflows_ = 0;
};
