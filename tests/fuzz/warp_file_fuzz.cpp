// Fuzzes the reader of traces of warps (*.warps): any bytes either make a trace, which comes back from what the
// writer makes of it and can be replayed, or are refused with an Error of one line that names file and byte.
//
// The first byte chooses. Even: the rest is a file as it stands, and mostly dies at its checksums. Odd: the rest
// is cut into blocks, each of a kind and a length of two bytes before it, which get right heads behind a good
// beginning, so that what they hold is reached.
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "core/blob.hpp"
#include "gpu_replay.hpp"
#include "gpu_sim/trace/warp_file.hpp"

namespace {

using namespace terrace;
using namespace terrace::gpu_sim;
using View = std::span<const std::byte>;

void append(std::vector<std::byte>& file, const void* bytes, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(bytes);
  file.insert(file.end(), from, from + size);
}

void append_block(std::vector<std::byte>& file, std::uint32_t kind, View content) {
  std::vector<std::byte> stored(content.begin(), content.end());
  if (kind == k_ctas_block) {
    stored.resize(ZSTD_compressBound(content.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), content.data(), content.size(), 1));
  }
  const std::array<std::uint32_t, 3> head{kind, static_cast<std::uint32_t>(stored.size()),
                                          static_cast<std::uint32_t>(content.size())};
  const auto sum = crc32c(stored, crc32c(std::as_bytes(std::span(head))));
  append(file, head.data(), sizeof head);
  append(file, &sum, sizeof sum);
  append(file, stored.data(), stored.size());
}

std::vector<std::byte> with_heads(View input) {
  std::vector<std::byte> file;
  append(file, k_warps_magic.data(), k_warps_magic.size());
  append(file, &k_warps_version, sizeof k_warps_version);
  while (input.size() >= 3) {
    const auto kind = std::to_integer<std::uint32_t>(input[0]);
    std::uint16_t size = 0;
    std::memcpy(&size, input.data() + 1, sizeof size);
    const auto content = input.subspan(3, std::min<std::size_t>(size, input.size() - 3));
    append_block(file, kind, content);
    input = input.subspan(3 + content.size());
  }
  return file;
}

// A file without a place on a disk.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("warps", MFD_CLOEXEC)) { require(file_ >= 0, "memfd_create", "no file"); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }
  void put(View bytes) const {
    require(ftruncate(file_, 0) == 0, "ftruncate", path());
    require(pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "pwrite", path());
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

void write_again(WarpFileReader& reader, const std::string& path) {
  WarpFileWriter writer(path);
  for (TraceEvent event; reader.next(event);) {
    if (const auto* allocation = std::get_if<Allocation>(&event)) writer.add(*allocation);
    const auto* kernel = std::get_if<Kernel>(&event);
    if (kernel == nullptr) continue;
    writer.begin(*kernel);
    for (Cta cta; reader.next_cta(cta);) writer.add(cta);
  }
  writer.finish();
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The writer's file of a trace is the same when it is read and written once more.
void check_writer(const MemoryFile& from) {
  const MemoryFile first, second;
  try {
    WarpFileReader reader(from.path());
    write_again(reader, first.path());
  } catch (const Error& error) {
    return require_refusal(error, from.path());
  }
  try {
    WarpFileReader reader(first.path());
    write_again(reader, second.path());
  } catch (const Error& error) {
    require(false, "what was written is not read", error.what());
  }
  require(content(first.path()) == content(second.path()), "a trace changes", "when it is read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const View input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const auto made = (data[0] & 1) != 0 ? with_heads(input) : std::vector<std::byte>();
  static const MemoryFile file;
  file.put((data[0] & 1) != 0 ? View(made) : input);
  check_writer(file);
  try {
    WarpFileReader reader(file.path());
    replay_beginning(reader, file.path());
  } catch (const Error& error) {
    require_refusal(error, file.path());
  }
  return 0;
}
