// Pushes particles and deposits their charge; prints a checksum and the number of caught exceptions.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "cells.hpp"
#include "particles.hpp"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 10;
  Particles particles;
  Cells cells;
  for (int step = 0; step < steps; ++step) {
    particles.push();
    particles.deposit(cells);
    particles.record();
  }
  int caught = 0;
  try {
    cells.at(Cells::k_count);
  } catch (const std::out_of_range&) {
    ++caught;
  }
  std::printf("particles: %d steps, checksum %.0f, caught %d\n", steps, particles.checksum() + cells.total(),
              caught);
  return 0;
}
