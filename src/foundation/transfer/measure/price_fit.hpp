// SPDX-License-Identifier: Apache-2.0
// Fits the price of migrations to measured times of single migrations, for `terrace machine measure`.
#pragma once

#include <span>

namespace terrace::transfer {

// A measured migration of a chunk: its number of pieces, base pages and huge pages.
struct PricedMove {
  double pieces = 0;
  double small = 0;
  double huge = 0;
  double seconds = 0;  // without the copy of its bytes
  double whole = 0;    // total
};

// Seconds for each piece, small page and huge page.
struct FittedPrice {
  double call = 0;
  double small = 0;
  double huge = 0;
};

// Returns the non-negative linear least-squares fit, with errors relative to each migration's total time.
FittedPrice fit_price(std::span<const PricedMove> moves);

}  // namespace terrace::transfer
