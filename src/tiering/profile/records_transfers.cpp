// SPDX-License-Identifier: Apache-2.0
// Implements the delta encoding of the transfers' record, which the runtime writes and the merge reads. A program
// may make 100,000 transfers a second, and logging costs more than requesting them. A transfer therefore stores
// only fields that its predecessor does not imply: 9 bytes for consecutive copies.
#include <cstdint>

#include "profile/records.hpp"

namespace terrace::profile {
namespace {

// Bits of a transfer's first byte: the fields that follow, in this order. The completion time is always last.
constexpr std::uint8_t k_new_move = 1;     // not the successor of the previous transfer's move
constexpr std::uint8_t k_new_request = 2;  // iteration and time of the request
constexpr std::uint8_t k_new_source = 4;
constexpr std::uint8_t k_new_size = 8;
constexpr std::uint8_t k_pause = 16;  // did not begin when the previous one was done
constexpr std::uint8_t k_waited = 32;
constexpr std::uint8_t k_refused = 64;
constexpr std::uint8_t k_known_bits = 127;

// Returns the bits of the fields that the previous transfer does not imply.
std::uint8_t changed_fields(const Transfer& one, const Transfer& last) {
  std::uint8_t bits = 0;
  if (one.move != last.move + 1) bits |= k_new_move;
  if (one.iteration != last.iteration || one.asked != last.asked) bits |= k_new_request;
  if (one.from != last.from) bits |= k_new_source;
  if (one.size != last.size) bits |= k_new_size;
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
    const auto bits = changed_fields(one, last);
    out.put(bits);
    if ((bits & k_new_move) != 0) out.put(one.move);
    if ((bits & k_new_request) != 0) {
      out.put(one.iteration);
      out.put(one.asked.value);
    }
    if ((bits & k_new_source) != 0) out.put(one.from);
    if ((bits & k_new_size) != 0) out.put(one.size.value);
    if ((bits & k_pause) != 0) out.put(one.begun.value);
    if ((bits & k_waited) != 0) out.put(one.waited.value);
    out.put(one.done.value);
    last = one;
  }
}

// Decodes the record for the merge: a field without its bit follows from the previous transfer.
void decode(BlobReader& in, TransfersRecord& record) {
  record = {};
  const auto count = in.get<std::uint32_t>();
  Transfer last;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bits = in.get<std::uint8_t>();
    if ((bits & ~k_known_bits) != 0)
      throw Error(Code::corrupt,
                  "a transfer has unknown fields: merge with the version of terrace that recorded it");
    auto one = last;
    one.move = (bits & k_new_move) != 0 ? in.get<std::uint32_t>() : last.move + 1;
    if ((bits & k_new_request) != 0) {
      one.iteration = in.get<std::uint32_t>();
      one.asked = {in.get<double>()};
    }
    if ((bits & k_new_source) != 0) one.from = in.get<PlaceId>();
    if ((bits & k_new_size) != 0) one.size = {in.get<std::uint64_t>()};
    one.begun = (bits & k_pause) != 0 ? Seconds{in.get<double>()} : last.done;
    one.waited = (bits & k_waited) != 0 ? Seconds{in.get<double>()} : Seconds{};
    one.refused = (bits & k_refused) != 0;
    one.done = {in.get<double>()};
    record.transfers.push_back(one);
    last = one;
  }
}

}  // namespace terrace::profile
