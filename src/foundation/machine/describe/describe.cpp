// SPDX-License-Identifier: Apache-2.0
// Formats a machine as text, for `terrace machine`: tree of places, initiators, paths, copiers and measurements.
#include "machine/describe/describe.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "machine/describe/text_table.hpp"

namespace terrace::machine {
namespace {

// Appends a line for each node below `index`, with the lines of the tree drawn. `lead`: what precedes them.
void append_subtree(const MachineParts& parts, std::uint32_t index, const std::string& lead, std::string& out) {
  std::vector<std::uint32_t> children;
  for (std::uint32_t i = 0; i < parts.nodes.size(); ++i) {
    if (parts.nodes[i].parent == index) children.push_back(i);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto& node = parts.nodes[children[i]];
    const bool last = i + 1 == children.size();
    out += lead + (last ? "`- " : "|- ") + node.name;
    if (node.place) {
      const auto& place = parts.places[*node.place];
      out += "  " + place.kind + ", " + format(place.capacity) + " in pages of " + format(place.granule) +
             ", domain " + parts.domains[place.domain].name;
      if (place.numa_node >= 0) out += ", NUMA node " + std::to_string(place.numa_node);
      if (place.geometry) out += ", " + describe(*place.geometry);
    }
    out += "\n";
    append_subtree(parts, children[i], lead + (last ? "   " : "|  "), out);
  }
}

std::string format_tree(const MachineParts& parts) {
  std::uint32_t root = 0;
  while (parts.nodes[root].parent) ++root;
  std::string out = "  " + parts.nodes[root].name + "\n";
  append_subtree(parts, root, "  ", out);
  return out;
}

// Formats at most `digits` digits after the point, without trailing zeros.
std::string format_decimal(double value, int digits) {
  std::array<char, 400> buffer{};  // the largest double has 309 digits before the point
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  std::string text(buffer.data(), end.ptr);
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string initiator_table(const MachineParts& parts) {
  TextTable table({"initiator", "domain", "cores", "clock", "instruction", "parallel misses", "prefetched"}, 2);
  for (const auto& initiator : parts.initiators) {
    table.add({initiator.name, parts.domains[initiator.domain].name, std::to_string(initiator.cores),
               initiator.frequency_hz > 0 ? format_decimal(initiator.frequency_hz / 1e9, 2) + "GHz" : "-",
               format(initiator.instruction_time), format_decimal(initiator.mlp, 1),
               format_decimal(initiator.prefetch_mlp, 1)});
  }
  return table.text();
}

std::string cache_table(const MachineParts& parts) {
  TextTable table({"initiator", "cache", "size", "ways", "hit", "for"}, 2);
  for (const auto& initiator : parts.initiators) {
    for (const auto& cache : initiator.caches) {
      table.add({initiator.name, cache.name, format(cache.size), std::to_string(cache.ways), format(cache.latency),
                 cache.shared ? "all" : "each"});
    }
  }
  return table.text();
}

std::string tlb_table(const MachineParts& parts) {
  TextTable table({"initiator", "entries", "ways", "pages", "walk"});
  for (const auto& initiator : parts.initiators) {
    const auto& tlb = initiator.tlb;
    if (tlb.entries == 0) continue;
    table.add({initiator.name, std::to_string(tlb.entries), std::to_string(tlb.ways), format(tlb.page),
               format(tlb.walk)});
  }
  return table.text();
}

std::string path_table(const Machine& machine) {
  const auto& parts = machine.parts();
  TextTable table({"from", "to", "read", "write", "latency"}, 2);
  for (const auto& path : parts.paths) {
    table.add({parts.initiators[path.initiator].name, parts.places[path.place].name, format(path.read),
               format(path.write), format(path.latency)});
  }
  return table.text();
}

std::string gpu_tables(const MachineParts& parts) {
  TextTable table({"GPU", "SMs", "clock", "warps of an SM", "L1", "L2 slice", "page"}, 1);
  for (const auto& gpu : parts.gpus)
    table.add({parts.initiators[gpu.initiator].name, std::to_string(gpu.processors),
               format_decimal(gpu.hertz / 1e9, 2) + "GHz", std::to_string(gpu.warps), format(Bytes{gpu.l1.bytes}),
               format(Bytes{gpu.l2.bytes}), format(Bytes{gpu.page_bytes})});
  TextTable memories({"GPU", "memory", "channels", "bandwidth", "link", "link's latency"}, 2);
  for (const auto& gpu : parts.gpus)
    for (const auto& memory : gpu.memories) {
      const auto link = memory.link_bytes_per_second;
      memories.add({parts.initiators[gpu.initiator].name, parts.places[memory.place].name,
                    std::to_string(memory.channels), format(BytesPerSecond{memory.bytes_per_second}),
                    link > 0 ? format(BytesPerSecond{link}) : "-",
                    memory.link_latency > 0 ? format(Seconds{memory.link_latency / gpu.hertz}) : "-"});
    }
  return table.text() + memories.text();
}

// Lists the copiers, which migrate chunks; the first one is in effect. Columns as the keys of [[copier]]: most
// bytes of one call (piece), time of a call, of remapping a page, stall of running threads for each piece, and
// trap: cost of an access to a chunk in flight.
std::string copier_table(const MachineParts& parts) {
  TextTable table({"copier", "piece", "call", "pages", "stall", "trap", "threads", "lines"}, 1);
  for (const auto& copier : parts.copiers) {
    std::string pages;
    for (const auto& [page, remap] : copier.pages)
      pages += (pages.empty() ? "" : ", ") + format(page) + ": " + format(remap);
    table.add({copier.name, copier.piece.value > 0 ? format(copier.piece) : "-", format(copier.call),
               pages.empty() ? "-" : pages, format(copier.stall), copier.trap ? format(*copier.trap) : "-",
               std::to_string(copier.threads), copier.lines > 0 ? format_decimal(copier.lines, 1) : "-"});
  }
  return table.text();
}

std::string file_table(const MachineParts& parts) {
  TextTable table({"file", "beside", "read", "write", "latency", "requests"}, 2);
  for (const auto& file : parts.files)
    table.add({file.name, parts.places[file.beside].name, format(file.read), format(file.write),
               format(file.latency), std::to_string(file.requests)});
  return table.text();
}

std::string format_measurements(const MachineParts& parts, const Measurement& measured) {
  std::string out = "Measured " + measured.date + " on " + measured.processor + " (fingerprint " +
                    parts.fingerprint + "), the best of " + std::to_string(measured.repetitions) +
                    " rounds or more\n";
  TextTable rates({"from", "to", "kernel", "threads", "best", "median", "spread"}, 3);
  for (const auto& row : measured.bandwidths) {
    rates.add({parts.initiators[row.initiator].name, parts.places[row.place].name, row.kernel,
               std::to_string(row.threads), format(BytesPerSecond{row.bytes_per_second.best}),
               format(BytesPerSecond{row.bytes_per_second.median}),
               format(BytesPerSecond{row.bytes_per_second.spread})});
  }
  TextTable chases({"from", "to", "pages", "others read", "best", "median", "spread"}, 3);
  for (const auto& row : measured.latencies) {
    chases.add({parts.initiators[row.initiator].name, parts.places[row.place].name, row.pages,
                row.load > 0 ? format(BytesPerSecond{row.load}) : "nothing", format(Seconds{row.seconds.best}),
                format(Seconds{row.seconds.median}), format(Seconds{row.seconds.spread})});
  }
  TextTable moves({"copier", "what", "pages", "chunk", "best", "median", "spread"}, 3);
  for (const auto& row : measured.copiers)
    moves.add({row.copier, row.what, row.pages, format(row.size), format(Seconds{row.seconds.best}),
               format(Seconds{row.seconds.median}), format(Seconds{row.seconds.spread})});
  TextTable times({"initiator", "figure", "best", "median", "spread"}, 2);
  for (const auto& row : measured.times)
    times.add({parts.initiators[row.initiator].name, row.figure, format(Seconds{row.seconds.best}),
               format(Seconds{row.seconds.median}), format(Seconds{row.seconds.spread})});
  if (!measured.times.empty()) out += times.text();
  if (!measured.bandwidths.empty()) out += rates.text();
  if (!measured.latencies.empty()) out += chases.text();
  if (!measured.copiers.empty()) out += moves.text();
  for (const auto& note : measured.notes) out += "  note: " + note + "\n";
  return out;
}

}  // namespace

std::string describe(const Machine& machine, const Measurement* measured) {
  const auto& parts = machine.parts();
  std::string out = "Machine " + parts.name + "\n";
  if (!parts.description.empty()) out += "  " + parts.description + "\n";
  out += "\nPlaces\n" + format_tree(parts);
  out += "\nInitiators\n" + initiator_table(parts);
  const bool cached = std::any_of(parts.initiators.begin(), parts.initiators.end(),
                                  [](const Initiator& initiator) { return !initiator.caches.empty(); });
  if (cached) out += "\nCaches (lines of " + format(parts.line) + ")\n" + cache_table(parts);
  const bool translates = std::any_of(parts.initiators.begin(), parts.initiators.end(),
                                      [](const Initiator& initiator) { return initiator.tlb.entries > 0; });
  if (translates) out += "\nTLBs\n" + tlb_table(parts);
  out += "\nPaths\n" + path_table(machine);
  if (!parts.gpus.empty()) out += "\nGPUs in virtual time\n" + gpu_tables(parts);
  if (!parts.copiers.empty())
    out += "\nMoves (priced by the first)\n" + copier_table(parts);
  else if (parts.places.size() > 1)
    out += "\nMoves\n  no price is stated ([[copier]]): bytes over bandwidth\n";
  if (!parts.files.empty()) out += "\nBacking files (for data that exceed a memory)\n" + file_table(parts);
  if (measured != nullptr) out += "\n" + format_measurements(parts, *measured);
  return out;
}

std::string describe(const Machine& machine, const MemoryLimit& limit) {
  Bytes whole{0};
  for (const auto& place : machine.places()) whole += place.capacity;
  if (limit.limit >= whole) return "";
  auto text = "\nMemory limit\n  " + format(limit.limit) +
              " of all places together, by the control group (version " + std::to_string(limit.version) + ")";
  if (limit.used) text += ", " + format(*limit.used) + " of it in use";
  return text + "\n  `terrace run` keeps its budgets within the limit\n";
}

}  // namespace terrace::machine
