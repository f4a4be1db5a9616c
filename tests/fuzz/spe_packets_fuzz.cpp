// Fuzzes the SPE packet decoder: whole and split input give the same accesses, apart from invalid packets; each
// has an address. tests/fuzz/CMakeLists.txt says how to run it.
#include <vector>

#include "observe/perf/spe_packets.hpp"

namespace {

using namespace terrace::observe;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

struct Decoded {
  std::vector<SpeAccess> accesses;
  std::uint64_t malformed = 0;
};

Decoded decode(std::span<const std::byte> bytes, std::size_t piece) {
  SpeDecoder reader(SpeSources::neoverse);
  Decoded decoded;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto some = bytes.subspan(at, std::min(piece, bytes.size() - at));
    reader.decode(some, at, [&](const SpeAccess& access) {
      require(access.has_address && access.sample.address != 0);
      require(access.sample.is_load || access.sample.is_store);
      decoded.accesses.push_back(access);
    });
  }
  decoded.malformed = reader.malformed();
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const auto whole = decode(bytes, bytes.size() + 1);
  const auto pieces = decode(bytes, 1 + data[0] % 40);
  if (whole.malformed != 0 || pieces.malformed != 0) return 0;
  require(whole.accesses.size() == pieces.accesses.size());
  for (std::size_t i = 0; i < whole.accesses.size(); ++i) {
    const auto &one = whole.accesses[i].sample, &other = pieces.accesses[i].sample;
    require(one.address == other.address && one.latency_cycles == other.latency_cycles &&
            one.level == other.level);
  }
  return 0;
}
