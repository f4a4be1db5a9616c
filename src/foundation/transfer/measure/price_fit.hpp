// The price of moves from what single moves took: numbers from numbers, without a clock.
#pragma once

#include <span>

namespace terrace::transfer {

// A chunk that was moved: in how many pieces, of how many pages of each size.
struct PricedMove {
  double pieces = 0;
  double small = 0;
  double huge = 0;
  double seconds = 0;  // beside the copy of its bytes
  double whole = 0;    // with it
};

// Seconds for each piece, small page and huge page.
struct FittedPrice {
  double call = 0;
  double small = 0;
  double huge = 0;
};

// With which the moves come nearest: linear least squares of errors relative to the whole moves, none of the three
// below 0.
FittedPrice fit_price(std::span<const PricedMove> moves);

}  // namespace terrace::transfer
