// SPDX-License-Identifier: Apache-2.0
// Computes and checks the fingerprint of the machine that a measurement belongs to: `terrace machine measure`
// writes it, runs on real memory check it.
#include <cinttypes>
#include <cstdio>

#include "core/error.hpp"
#include "machine/discover/discovery.hpp"

namespace terrace::machine {
namespace {

// FNV-1a, 64 bits: short and stable across versions. Not cryptographic.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0);
  }
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) step(static_cast<unsigned char>(value >> shift));
  }
  [[nodiscard]] std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, state_);
    return text;
  }

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3u; }
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

// Rounds a size to sixteenths of its power of two, because the kernel's reserve varies from boot to boot.
std::uint64_t rounded_size(Bytes size) {
  std::uint64_t step = 1;
  while (step * 32 <= size.value) step *= 2;
  return (size.value + step / 2) / step * step;
}

}  // namespace

std::string fingerprint(const Discovered& discovered) {
  Hash hash;
  hash.add(discovered.processor_name);
  for (const auto& initiator : discovered.machine.initiators()) {
    hash.add(initiator.cores);
    for (const auto& cache : initiator.caches) {
      hash.add(cache.size.value);
      hash.add(cache.ways);
    }
  }
  for (const auto& place : discovered.machine.places()) {
    hash.add(place.kind);
    hash.add(static_cast<std::uint64_t>(place.numa_node));
    hash.add(place.domain);
    hash.add(rounded_size(place.capacity));
  }
  return hash.hex();
}

void check_fingerprint(const Machine& machine) {
  if (!machine.parts().fingerprint.empty()) check_fingerprint(machine, discover_details());
}

void check_fingerprint(const Machine& machine, const Discovered& here) {
  const auto& theirs = machine.parts().fingerprint;
  if (theirs.empty()) return;
  const auto ours = fingerprint(here);
  if (theirs == ours) return;
  throw Error(Code::invalid, "machine '" + machine.name() + "' was measured on another machine (fingerprint " +
                                 theirs + ", this one has " + ours + "); run `terrace machine measure` here");
}

}  // namespace terrace::machine
