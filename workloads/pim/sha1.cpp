// Implements SHA-1 of many messages by bitwise operations on rows of a PIM device. See sha1.hpp.
#include "workloads/pim/sha1.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

constexpr std::size_t k_block_bytes = 64;
constexpr std::array<std::uint32_t, 5> k_initial{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};

// Padding: a message is followed by a 1 bit, zeros, and its length in 64 bits (section 5.1.1).
std::size_t blocks_of(std::string_view message) {
  return (message.size() + 9 + k_block_bytes - 1) / k_block_bytes;
}

std::uint8_t padded_byte(std::string_view message, std::size_t at) {
  if (at < message.size()) return static_cast<std::uint8_t>(message[at]);
  if (at == message.size()) return 0x80;
  const auto from_end = blocks_of(message) * k_block_bytes - 1 - at;
  if (from_end >= 8) return 0;
  return static_cast<std::uint8_t>((std::uint64_t{message.size()} * 8) >> (8 * from_end));
}

// Returns word t of a block; zero for a message that has no such block.
std::uint32_t word(std::string_view message, std::size_t block, std::size_t t) {
  if (block >= blocks_of(message)) return 0;
  std::uint32_t result = 0;
  for (std::size_t i = 0; i < 4; ++i)
    result = result << 8 | padded_byte(message, block * k_block_bytes + 4 * t + i);
  return result;
}

class Hasher {
 public:
  Hasher(Array& array, const Block& block, std::uint64_t lanes)
      : block_(block), lanes_(lanes), alu_(array, block) {
    next_ = scratch_rows(Dim::vertical);
    for (auto& one : schedule_) one = vector(32);
    for (auto& one : hash_) one = vector(32);
    for (auto& one : work_) one = vector(32);
    choice_ = vector(32);
    differ_ = vector(32);
    active_ = vector(1);
    for (std::size_t i = 0; i < hash_.size(); ++i) alu_.fill(hash_[i], k_initial[i]);
  }

  void add_block(std::span<const std::string_view> messages, std::size_t block) {
    std::vector<std::uint64_t> values(lanes_);
    const auto send = [&](const Vector& to, auto value) {
      std::ranges::transform(messages, values.begin(), value);
      write(alu_.array(), to, values);
    };
    for (std::size_t t = 0; t < schedule_.size(); ++t)
      send(schedule_[t], [&](auto message) { return word(message, block, t); });
    for (std::size_t i = 0; i < hash_.size(); ++i) alu_.copy(work_[i], hash_[i]);
    for (std::uint32_t t = 0; t < 80; ++t) round(t);

    const bool all = std::ranges::all_of(messages, [&](auto message) { return block < blocks_of(message); });
    if (!all) send(active_, [&](auto message) { return block < blocks_of(message); });
    for (std::size_t i = 0; i < hash_.size(); ++i) {
      if (all) {
        alu_.add(hash_[i], hash_[i], work_[i]);
      } else {  // finished messages keep their hash
        alu_.add(choice_, hash_[i], work_[i]);
        alu_.select(hash_[i], active_, choice_, hash_[i]);
      }
    }
  }

  std::vector<Sha1Digest> digests() {
    std::vector<Sha1Digest> result(lanes_);
    for (std::size_t i = 0; i < hash_.size(); ++i) {
      const auto words = read(alu_.array(), hash_[i]);
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        for (std::size_t byte = 0; byte < 4; ++byte)
          result[lane][4 * i + byte] = static_cast<std::uint8_t>(words[lane] >> (24 - 8 * byte));
    }
    return result;
  }

 private:
  Vector vector(std::uint32_t bits) {
    const Block rows{block_.device, block_.subarray, block_.row + next_, {bits, block_.shape.subarrays}};
    next_ += bits;
    return {rows, lanes_, bits, Dim::vertical, 0};
  }

  // Computes W of round t in the place of that of round t - 16. Rotations only rename rows.
  const Vector& schedule(std::uint32_t t) {
    auto& to = schedule_[t % 16];
    if (t < 16) return to;
    for (const auto back : {3, 8, 14}) alu_.logic(Gate::xor_, to, to, schedule_[(t - back) % 16]);
    return to = rotated(to, 1);
  }

  // Computes the functions of section 4.1.1 by selection, in fewer row cycles than the formulas.
  void choose(std::uint32_t t, const Vector& b, const Vector& c, const Vector& d) {
    if (t < 20) return alu_.select(choice_, b, c, d);
    if (t < 40 || t >= 60) {
      alu_.logic(Gate::xor_, choice_, b, c);
      return alu_.logic(Gate::xor_, choice_, choice_, d);
    }
    alu_.logic(Gate::xor_, differ_, b, c);
    alu_.select(choice_, differ_, d, c);
  }

  void round(std::uint32_t t) {
    constexpr std::array<std::uint32_t, 4> k_constants{0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    auto& [a, b, c, d, e] = work_;
    choose(t, b, c, d);
    alu_.add(e, e, choice_);
    alu_.add(e, e, schedule(t));
    alu_.add(e, e, k_constants[t / 20]);
    alu_.add(e, e, rotated(a, 5));
    b = rotated(b, 30);
    std::rotate(work_.begin(), work_.end() - 1, work_.end());  // the new a is in the rows of e
  }

  Block block_;
  std::uint64_t lanes_;
  Alu alu_;
  std::uint32_t next_ = 0;
  std::array<Vector, 16> schedule_;
  std::array<Vector, 5> hash_, work_;
  Vector choice_, differ_, active_;
};

}  // namespace

Sha1Batch sha1(Array& array, std::span<const std::string_view> messages, const Blocks& blocks) {
  if (messages.empty()) throw Error(Code::invalid, "SHA-1 of no messages; pass at least one");
  Run run(array, blocks);
  const auto columns = std::uint64_t{array.geometry().columns};
  const auto subarrays = (messages.size() + columns - 1) / columns;
  if (subarrays > array.geometry().width() || k_sha1_rows > array.geometry().rows)
    throw Error(Code::invalid, "SHA-1 of " + std::to_string(messages.size()) + " messages takes " +
                                   std::to_string(k_sha1_rows) + " rows in " + std::to_string(subarrays) +
                                   " subarrays; there are " + describe(array.geometry()));
  Hasher hasher(array, run.block({k_sha1_rows, static_cast<std::uint32_t>(subarrays)}), messages.size());
  const auto longest = blocks_of(*std::ranges::max_element(messages, {}, &std::string_view::size));
  for (std::size_t block = 0; block < longest; ++block) hasher.add_block(messages, block);
  auto digests = hasher.digests();
  return {std::move(digests), run.report()};
}

}  // namespace terrace::pim
