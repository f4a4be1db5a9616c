// Example machine for tests: two domains, three kinds, every path. Also serialises machines, to compare them.
#pragma once

#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

inline MachineParts example_parts() {
  MachineParts parts;
  parts.name = "example";
  parts.places = {
      {"hbm0", "hbm", {16ull << 30}, {4096}, 0, -1},  {"ddr0", "ddr", {64ull << 30}, {4096}, 0, 0},
      {"cxl0", "cxl", {128ull << 30}, {4096}, 0, -1}, {"hbm1", "hbm", {8ull << 30}, {4096}, 1, -1},
      {"ddr1", "ddr", {64ull << 30}, {4096}, 1, 1},
  };
  for (DomainId d = 0; d < 2; ++d) {
    Initiator initiator;
    initiator.name = "cores" + std::to_string(d);
    initiator.cores = 8;
    initiator.frequency_hz = 2.4e9;
    initiator.instruction_time = {0.25e-9};
    initiator.caches = {{"l2", {256u << 10}, 8, false, {5e-9}}, {"l3", {20u << 20}, 20, true, {20e-9}}};
    initiator.domain = d;
    parts.initiators.push_back(initiator);
    parts.domains.push_back({"socket" + std::to_string(d), d, {}});
    for (PlaceId p = 0; p < 5; ++p) {
      const bool near = parts.places[p].domain == d;
      const bool hbm = parts.places[p].kind == "hbm";
      const bool cxl = parts.places[p].kind == "cxl";
      const double rate = (hbm ? 400e9 : cxl ? 25e9 : 100e9) * (near ? 1 : 0.5);
      const double delay = (hbm ? 120e-9 : cxl ? 300e-9 : 100e-9) + (near ? 0 : 80e-9);
      parts.paths.push_back({d, p, {rate}, {rate / 2}, {delay}});
    }
  }
  return parts;
}

// Geometry of two devices of 2 GiB.
inline void set_geometry(MachineParts& parts, PlaceId place) {
  parts.places[place].geometry = {1024, 131072, 16, 8, 2};
  parts.places[place].capacity = {4ull << 30};
}

inline std::vector<std::byte> blob_of(const Machine& machine) {
  BlobWriter out;
  machine.to_blob(out);
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace terrace::machine
