// Memory that a program gives back and asks for again: canonical addresses are never used twice, but a block that
// is made where one of about its size was made before is the same to whoever asks whether a loop's turns miss in
// the same memory. Of each name the last one that has gone is the first to be taken for the next that comes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"

namespace terrace::runtime {

class Recurring {
 public:
  // An object begins at that canonical address: the one that it stands for, its own where it stands for none.
  std::uint64_t come(std::string_view name, std::uint64_t canonical, Bytes size);
  // It has gone; `stood_for` is what come() said.
  void go(std::string_view name, std::uint64_t stood_for, Bytes size);

 private:
  struct Gone {
    std::uint64_t stood_for = 0;
    Bytes size;
  };
  static constexpr std::size_t k_max = 1024;  // of a name

  std::unordered_map<std::string, std::vector<Gone>> gone_;
};

}  // namespace terrace::runtime
