// The record of transfers. A program may make a hundred thousand a second, and what is written down costs it more
// than the asking: so a transfer has what the one before it does not tell, 9 bytes where copies follow one
// another.
#include <cstdint>

#include "profile/records.hpp"

namespace terrace::profile {
namespace {

// What a transfer's first byte says: these follow it, in this order; the time when it was done ends each.
constexpr std::uint8_t k_other_move = 1;    // not the move after the last one's
constexpr std::uint8_t k_other_asking = 2;  // the iteration, and when it was asked for
constexpr std::uint8_t k_other_from = 4;
constexpr std::uint8_t k_other_size = 8;
constexpr std::uint8_t k_pause = 16;  // it did not begin when the one before was done
constexpr std::uint8_t k_waited = 32;
constexpr std::uint8_t k_refused = 64;
constexpr std::uint8_t k_all = 127;

std::uint8_t differences(const Transfer& one, const Transfer& last) {
  std::uint8_t bits = 0;
  if (one.move != last.move + 1) bits |= k_other_move;
  if (one.iteration != last.iteration || one.asked != last.asked) bits |= k_other_asking;
  if (one.from != last.from) bits |= k_other_from;
  if (one.size != last.size) bits |= k_other_size;
  if (one.begun != last.done) bits |= k_pause;
  if (one.waited != Seconds{}) bits |= k_waited;
  if (one.refused) bits |= k_refused;
  return bits;
}

}  // namespace

void encode(BlobWriter& out, const TransfersRecord& record) {
  out.put(static_cast<std::uint32_t>(record.transfers.size()));
  Transfer last;
  for (const auto& one : record.transfers) {
    const auto bits = differences(one, last);
    out.put(bits);
    if ((bits & k_other_move) != 0) out.put(one.move);
    if ((bits & k_other_asking) != 0) {
      out.put(one.iteration);
      out.put(one.asked.value);
    }
    if ((bits & k_other_from) != 0) out.put(one.from);
    if ((bits & k_other_size) != 0) out.put(one.size.value);
    if ((bits & k_pause) != 0) out.put(one.begun.value);
    if ((bits & k_waited) != 0) out.put(one.waited.value);
    out.put(one.done.value);
    last = one;
  }
}

void decode(BlobReader& in, TransfersRecord& record) {
  record = {};
  const auto count = in.get<std::uint32_t>();
  Transfer last;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bits = in.get<std::uint8_t>();
    if ((bits & ~k_all) != 0) throw Error(Code::corrupt, "a transfer with fields that nobody knows");
    auto one = last;
    one.move = (bits & k_other_move) != 0 ? in.get<std::uint32_t>() : last.move + 1;
    if ((bits & k_other_asking) != 0) {
      one.iteration = in.get<std::uint32_t>();
      one.asked = {in.get<double>()};
    }
    if ((bits & k_other_from) != 0) one.from = in.get<PlaceId>();
    if ((bits & k_other_size) != 0) one.size = {in.get<std::uint64_t>()};
    one.begun = (bits & k_pause) != 0 ? Seconds{in.get<double>()} : last.done;
    one.waited = (bits & k_waited) != 0 ? Seconds{in.get<double>()} : Seconds{};
    one.refused = (bits & k_refused) != 0;
    one.done = {in.get<double>()};
    record.transfers.push_back(one);
    last = one;
  }
}

}  // namespace terrace::profile
