// Programs whose sums depend on the order of points in the last digits, on blocks of different widths. Compiled
// for the processor and as for a GPU, so everything is local to the file.
#pragma once

#include <cstdint>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

std::vector<double> numbers_of_rows(const Options& options) {
  std::vector<double> all;
  for (const std::ptrdiff_t width : {1, 32, 33, 70})
    for (std::vector<std::ptrdiff_t> size : {std::vector<std::ptrdiff_t>{}, {5, 2}}) {
      size.insert(size.begin(), width);
      Context context(options);
      const auto block = context.block("block", size);
      const auto u = block.dataset<double>("u");
      auto total = context.sum<double>();
      auto narrow = context.sum<float>();
      auto count = context.sum<std::int64_t>();
      auto least = context.minimum<double>();
      auto most = context.maximum<std::int64_t>();
      for (int turn = 0; turn < 2; ++turn) {
        block.loop(
            "fill", block.range(),
            [turn](auto to, auto at) {
              to() = 1.0 / (3.0 + static_cast<double>(turn + 7 * at[0] + 11 * at[1] + 1009 * at[2]));
            },
            write(u), index());
        // A part of the rows, and a column.
        for (const auto& range : {block.range(), Range({{width / 3, width}, {0, block.range().end[1]}, {0, 1}}),
                                  Range({{0, 1}, {0, block.range().end[1]}, {0, block.range().end[2]}})})
          block.loop(
              "sum", range,
              [](auto of, auto at, auto sum, auto small_sum, auto number, auto smallest, auto largest) {
                sum += of();
                small_sum += static_cast<float>(of());
                if (at[0] % 3 == 0) number += at[0] - at[1];
                smallest(of() - 0.25 * static_cast<double>(at[0] % 5));
                largest(at[0] - 40 * at[1]);
              },
              read(u), index(), into(total), into(narrow), into(count), into(least), into(most));
      }
      all.insert(all.end(),
                 {total.value(), static_cast<double>(narrow.value()), static_cast<double>(count.value()),
                  least.value(), static_cast<double>(most.value())});
    }
  return all;
}

}  // namespace
}  // namespace terrace::stencil::test
