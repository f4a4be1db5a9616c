// SPDX-License-Identifier: Apache-2.0
// Writes and verifies the seal of a checkpoint: a header with the file's length and checksums before its HDF5
// part. Called by Checkpoint::write() and restore(). See seal.hpp.
#include "stencil/io/seal.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "core/error.hpp"
#include "stencil/io/checksum.hpp"

namespace terrace::stencil::io {
namespace {

constexpr std::string_view k_magic = "Terrace stencil checkpoint 1\n";

constexpr std::size_t k_piece = std::size_t{1} << 20U;

// The header; followed by the extents, zeros, and in the last 8 bytes a checksum of everything before.
struct Head {
  char magic[32];
  std::uint64_t seal_bytes;
  std::uint64_t file_bytes;
  std::uint64_t checksum;  // checksum of all bytes after the seal outside the extents
  std::uint64_t extents;
};
static_assert(sizeof(Head) == 64);

constexpr std::uint64_t size_for(std::uint64_t extents) {
  const auto bytes = sizeof(Head) + extents * sizeof(Extent) + sizeof(std::uint64_t);
  return std::max<std::uint64_t>(std::bit_ceil(bytes), 512);
}

// Computes Head::checksum, over [begin, end) outside the sorted extents. After a
// failed read it is meaningless; File::check() then throws.
std::uint64_t checksum_between(File& file, std::uint64_t begin, std::uint64_t end,
                               std::span<const Extent> extents) {
  Checksum checksum;
  std::vector<char> piece(k_piece);
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    for (; from < to; from += k_piece) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, k_piece));
      if (!file.read(from, piece.data(), bytes)) return;
      checksum.add(piece.data(), bytes);
    }
  };
  for (const auto& extent : extents) {
    add(begin, extent.begin);
    begin = extent.begin + extent.size;
  }
  add(begin, end);
  return checksum.value();
}

std::uint64_t checksum_of(const std::vector<char>& bytes, std::size_t size) {
  Checksum checksum;
  checksum.add(bytes.data(), size);
  return checksum.value();
}

[[noreturn]] void damaged(const File& file, const std::string& what) {
  throw Error(Code::corrupt, file.path() + ": the checkpoint is damaged: " + what + ": restore an older one");
}

}  // namespace

std::uint64_t seal_size(std::size_t datasets) { return size_for(datasets); }

void write_seal(File& file, std::vector<Extent> extents) {
  std::ranges::sort(extents, {}, &Extent::begin);
  Head head{};
  std::copy(k_magic.begin(), k_magic.end(), head.magic);
  head.seal_bytes = seal_size(extents.size());
  head.file_bytes = file.size();
  head.checksum = checksum_between(file, head.seal_bytes, head.file_bytes, extents);
  head.extents = extents.size();
  std::vector<char> bytes(head.seal_bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!extents.empty()) std::memcpy(&bytes[sizeof head], extents.data(), extents.size() * sizeof(Extent));
  const auto own = checksum_of(bytes, bytes.size() - sizeof(std::uint64_t));
  std::memcpy(&bytes[bytes.size() - sizeof own], &own, sizeof own);
  file.write(0, bytes.data(), bytes.size());
}

void check_seal(File& file) {
  const auto size = file.size();
  Head head{};
  const auto is_read = file.read(0, &head, sizeof head);
  file.check();
  if (!is_read || std::string_view(head.magic, k_magic.size()) != k_magic)
    throw Error(Code::invalid, file.path() +
                                   ": this is no checkpoint, or its header is damaged: name a file that "
                                   "Checkpoint::write made");
  if (head.extents > size / sizeof(Extent) || head.seal_bytes != size_for(head.extents) || head.seal_bytes > size)
    damaged(file, "its header is invalid");
  std::vector<char> bytes(head.seal_bytes);
  (void)file.read(0, bytes.data(), bytes.size());
  file.check();
  std::uint64_t own = 0;
  std::memcpy(&own, &bytes[bytes.size() - sizeof own], sizeof own);
  if (own != checksum_of(bytes, bytes.size() - sizeof own)) damaged(file, "its header is invalid");
  if (head.file_bytes != size)
    damaged(file, "it has " + std::to_string(size) + " of " + std::to_string(head.file_bytes) + " bytes");
  std::vector<Extent> extents(head.extents);
  if (!extents.empty()) std::memcpy(extents.data(), &bytes[sizeof head], extents.size() * sizeof(Extent));
  const auto found = checksum_between(file, head.seal_bytes, size, extents);
  file.check();
  if (found != head.checksum) damaged(file, "its description of the datasets is invalid");
}

}  // namespace terrace::stencil::io
