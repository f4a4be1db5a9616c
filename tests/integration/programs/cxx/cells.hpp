// Charge by cell, in a hash map: many small nodes.
#pragma once

#include <cstdint>
#include <unordered_map>

class Cells {
 public:
  static constexpr std::uint32_t k_count = 4096;

  void add(std::uint32_t particle, double charge);
  // Throws std::out_of_range for a cell that holds nothing.
  double at(std::uint32_t cell) const;
  double total() const;

 private:
  std::unordered_map<std::uint32_t, double> charge_;
};
