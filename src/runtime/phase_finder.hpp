// Finds the main loop of a program that has no markers, from the sequence in which it enters its functions: the
// loop is where that sequence repeats itself.
//
// A period is believed when it was seen three times running. An inner loop repeats first; when it ends the
// sequence breaks, and from then on only longer periods are believed, so that the search climbs to the outermost
// loop that still repeats. Functions that are entered very often are too fine to be phases and are dropped from
// the sequence.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace terrace::runtime {

class PhaseFinder {
 public:
  using Function = std::uint32_t;
  enum class Event : std::uint8_t {
    none,       // nothing is known, or the entry belongs to no phase
    iteration,  // the first phase of an iteration begins
    phase,      // another phase of it
    broken      // the loop that was believed in is over
  };
  struct Step {
    Event event = Event::none;
    std::uint32_t position = 0;  // of the phase in the iteration
  };

  static constexpr std::uint32_t k_repeats = 3;        // of a period before it is believed
  static constexpr std::uint32_t k_longest = 512;      // period
  static constexpr std::uint32_t k_too_often = 16384;  // entries of one function

  Step entered(Function function);
  // The functions of the period that is believed in, in order; empty while there is none.
  [[nodiscard]] const std::vector<Function>& period() const { return period_; }
  // False once a function is dropped for being entered too often: its entries need not be reported any more.
  [[nodiscard]] bool watched(Function function) const;

 private:
  [[nodiscard]] std::uint32_t find_period() const;
  void drop(Function function);
  void remember(Function function);

  std::vector<Function> sequence_;
  std::unordered_map<Function, std::uint32_t> counts_;
  std::vector<Function> period_;
  std::uint32_t at_ = 0;        // position in the period of the next entry
  std::uint32_t shortest_ = 1;  // periods shorter than this have been disproved
};

}  // namespace terrace::runtime
