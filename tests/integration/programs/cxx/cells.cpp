// Implements the charge by cell. See cells.hpp.
#include "cells.hpp"

void Cells::add(std::uint32_t particle, double charge) { charge_[particle % k_count] += charge; }

double Cells::at(std::uint32_t cell) const { return charge_.at(cell); }

double Cells::total() const {
  double total = 0;
  for (const auto& [cell, charge] : charge_) total += charge;
  return total;
}
