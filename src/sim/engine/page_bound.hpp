// What any schedule must move between a memory and a file, from the pages that the program touches alone.
//
// Whatever is in memory when a stretch of the run begins, it is no more than the memory holds. So of the pages that
// had content then and are touched in the stretch all but so many have to be read in it, and of those that are written
// in it all but so many have been written to the file when it ends. Stretches that do not overlap add up. The run is
// cut into stretches in several ways, and the way that proves most counts: at the owner's marks alone (iterations), and
// besides wherever a multiple of what the memory holds has been touched.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::sim {

class PageBound {
 public:
  // Bytes, since the beginning.
  struct Least {
    Bytes read{};
    Bytes written{};
  };

  // The program touches a page; it may be resident or not. `capacity`: pages that memory holds, now.
  void touch(std::uint32_t page, std::uint64_t capacity);
  // A line of the page, which is in memory, has been stored to.
  void store(std::uint32_t page, std::uint64_t capacity);
  // These have no content any more.
  void forget(std::uint32_t first, std::uint32_t count);
  // Ends the stretches here.
  Least cut();

 private:
  // 0: no other cut than the owner's.
  static constexpr std::array<double, 5> k_multiples = {0, 1.25, 2, 4, 16};
  struct Way {
    std::uint32_t stretch = 1;
    std::uint64_t capacity = 0;  // when it began
    std::uint64_t touched = 0, with_content = 0, stored = 0;
    std::uint64_t read = 0, written = 0;        // pages, since the last mark
    std::vector<std::uint32_t> touched_in, stored_in;  // by page: the stretch
  };
  static void end(Way& way);
  void grow(std::uint32_t page);

  std::array<Way, k_multiples.size()> ways_;
  std::vector<bool> has_content_;
  Least least_;
};

}  // namespace terrace::sim
