// SPDX-License-Identifier: Apache-2.0
// Formats a machine as a machine file, which `terrace machine measure` writes: the same keys in the same order as
// a person would write them.
#include <algorithm>
#include <charconv>

#include "machine/file/gpu_table.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {
namespace {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          static constexpr const char* k_hex = "0123456789abcdef";
          const auto code = static_cast<unsigned char>(c);
          out += std::string("\\u00") + k_hex[code >> 4] + k_hex[code & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

// Formats the shortest digits that parse back to the same value, always as a TOML float.
std::string toml_float(double value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

class TomlWriter {
 public:
  void head(const std::string& head) { text_ += "\n" + head + "\n"; }
  void comment(const std::string& words) { text_ += "# " + words + "\n"; }
  void raw(const char* key, const std::string& value) { text_ += std::string(key) + " = " + value + "\n"; }
  void put(const char* key, std::string_view value) { raw(key, toml_string(value)); }
  void add(const std::string& text) { text_ += text; }
  void put(const char* key, Bytes value) { put(key, format_exact(value)); }
  void put(const char* key, Seconds value) { put(key, format_exact(value)); }
  void put(const char* key, BytesPerSecond value) { put(key, format_exact(value)); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void put_geometry(TomlWriter& out, const ArrayGeometry& geometry) {
  out.head("[place.geometry]");
  out.raw("devices", std::to_string(geometry.devices));
  out.raw("banks", std::to_string(geometry.banks));
  out.raw("subarrays", std::to_string(geometry.subarrays));
  out.raw("rows", std::to_string(geometry.rows));
  out.raw("columns", std::to_string(geometry.columns));
}

void put_tree(TomlWriter& out, const MachineParts& parts) {
  std::size_t root = 0;
  while (parts.nodes[root].parent) ++root;
  for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
    const auto& node = parts.nodes[i];
    if (i == root || node.place) continue;
    out.head("[[group]]");
    out.put("name", node.name);
    if (*node.parent != root) out.put("parent", parts.nodes[*node.parent].name);
  }
  for (std::size_t p = 0; p < parts.places.size(); ++p) {
    const auto& place = parts.places[p];
    out.head("[[place]]");
    out.put("name", place.name);
    out.put("kind", place.kind);
    out.put("capacity", place.capacity);
    out.put("granule", place.granule);
    out.put("domain", parts.domains[place.domain].name);
    for (const auto& node : parts.nodes) {
      if (node.place == p && *node.parent != root) out.put("parent", parts.nodes[*node.parent].name);
    }
    if (place.numa_node >= 0) out.raw("numa_node", std::to_string(place.numa_node));
    if (place.geometry) put_geometry(out, *place.geometry);
  }
}

void put_library(TomlWriter& out, const LibraryTimes& times) {
  if (std::ranges::all_of(times, [](Seconds time) { return time.value == 0; })) return;
  out.head("[initiator.library]");
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i].value > 0) out.put(k_library[i].name.data(), times[i]);
}

void put_tlb(TomlWriter& out, const Tlb& tlb) {
  if (tlb.entries == 0) return;
  out.raw("tlb", "{ entries = " + std::to_string(tlb.entries) + ", ways = " + std::to_string(tlb.ways) +
                     ", page = " + toml_string(format_exact(tlb.page)) +
                     ", walk = " + toml_string(format_exact(tlb.walk)) + " }");
}

void put_initiators(TomlWriter& out, const MachineParts& parts) {
  for (const auto& initiator : parts.initiators) {
    out.head("[[initiator]]");
    out.put("name", initiator.name);
    out.put("domain", parts.domains[initiator.domain].name);
    out.raw("cores", std::to_string(initiator.cores));
    if (initiator.frequency_hz > 0) out.put("frequency", format_exact_frequency(initiator.frequency_hz));
    out.put("instruction_time", initiator.instruction_time);
    out.raw("mlp", toml_float(initiator.mlp));
    out.raw("prefetch_mlp", toml_float(initiator.prefetch_mlp));
    out.raw("miss_registers", std::to_string(initiator.miss_registers));
    out.raw("window", std::to_string(initiator.window));
    out.raw("store_buffer", std::to_string(initiator.store_buffer));
    out.raw("streams", std::to_string(initiator.streams));
    put_tlb(out, initiator.tlb);
    put_library(out, initiator.library);
    for (const auto& cache : initiator.caches) {
      out.head("[[initiator.cache]]");
      out.put("name", cache.name);
      out.put("size", cache.size);
      out.raw("ways", std::to_string(cache.ways));
      out.raw("shared", cache.shared ? "true" : "false");
      out.put("latency", cache.latency);
      if (cache.overlapped.value > 0) out.put("overlapped", cache.overlapped);
    }
  }
}

void put_paths(TomlWriter& out, const MachineParts& parts) {
  for (const auto& path : parts.paths) {
    out.head("[[path]]");
    out.put("initiator", parts.initiators[path.initiator].name);
    out.put("place", parts.places[path.place].name);
    out.put("read", path.read);
    out.put("write", path.write);
    out.put("latency", path.latency);
    if (path.distance > 0) out.raw("distance", std::to_string(path.distance));
    if (path.bandwidth_source != Source::file) out.put("bandwidth_source", source_name(path.bandwidth_source));
    if (path.latency_source != Source::file) out.put("latency_source", source_name(path.latency_source));
  }
  for (const auto& copy : parts.copies) {
    out.head("[[copy]]");
    out.put("from", parts.places[copy.from].name);
    out.put("to", parts.places[copy.to].name);
    out.put("bandwidth", copy.bandwidth);
  }
}

void put_copiers(TomlWriter& out, const MachineParts& parts) {
  for (const auto& copier : parts.copiers) {
    out.head("[[copier]]");
    out.put("name", copier.name);
    if (copier.piece.value > 0) out.put("piece", copier.piece);
    if (copier.call.value > 0) out.put("call", copier.call);
    std::string pages;
    for (const auto& [page, remap] : copier.pages)
      pages += (pages.empty() ? "{ page = " : ", { page = ") + toml_string(format_exact(page)) +
               ", remap = " + toml_string(format_exact(remap)) + " }";
    if (!pages.empty()) out.raw("pages", "[" + pages + "]");
    if (copier.stall.value > 0) out.put("stall", copier.stall);
    if (copier.trap) out.put("trap", *copier.trap);
    if (copier.threads > 0) out.raw("threads", std::to_string(copier.threads));
    if (copier.lines > 0) out.raw("lines", toml_float(copier.lines));
  }
}

void put_files(TomlWriter& out, const MachineParts& parts) {
  for (const auto& file : parts.files) {
    out.head("[[file]]");
    out.put("name", file.name);
    out.put("beside", parts.places[file.beside].name);
    out.put("read", file.read);
    out.put("write", file.write);
    out.put("latency", file.latency);
    out.raw("requests", std::to_string(file.requests));
  }
}

void put_orderings(TomlWriter& out, const MachineParts& parts) {
  for (const auto& ordering : parts.orderings) {
    out.head("[[ordering]]");
    out.put("intent", ordering.intent);
    if (ordering.initiator) out.put("initiator", parts.initiators[*ordering.initiator].name);
    std::string ranks;
    for (const auto& rank : ordering.ranks) {
      std::string names;
      for (const auto& name : rank.names) names += (names.empty() ? "" : ", ") + toml_string(name);
      ranks += (ranks.empty() ? "" : ", ") + (rank.tie ? "[" + names + "]" : names);
    }
    out.raw("places", "[" + ranks + "]");
  }
}

template <class Unit>
void put_spread(TomlWriter& out, const Spread& row) {
  out.put("best", Unit{row.best});
  out.put("median", Unit{row.median});
  out.put("spread", Unit{row.spread});
}

void put_measured(TomlWriter& out, const MachineParts& parts, const Measurement& measured) {
  out.head("[measured]");
  out.put("fingerprint", parts.fingerprint);
  out.put("date", measured.date);
  out.put("processor", measured.processor);
  out.raw("repetitions", std::to_string(measured.repetitions));
  std::string notes;
  for (const auto& note : measured.notes) notes += (notes.empty() ? "" : ", ") + toml_string(note);
  out.raw("notes", "[" + notes + "]");
  for (const auto& row : measured.times) {
    out.head("[[measured.time]]");
    out.put("initiator", parts.initiators[row.initiator].name);
    out.put("figure", row.figure);
    put_spread<Seconds>(out, row.seconds);
  }
  for (const auto& row : measured.bandwidths) {
    out.head("[[measured.bandwidth]]");
    out.put("initiator", parts.initiators[row.initiator].name);
    out.put("place", parts.places[row.place].name);
    out.raw("threads", std::to_string(row.threads));
    out.put("kernel", row.kernel);
    put_spread<BytesPerSecond>(out, row.bytes_per_second);
  }
  for (const auto& row : measured.latencies) {
    out.head("[[measured.latency]]");
    out.put("initiator", parts.initiators[row.initiator].name);
    out.put("place", parts.places[row.place].name);
    out.put("pages", row.pages);
    if (row.load > 0) out.put("load", BytesPerSecond{row.load});
    put_spread<Seconds>(out, row.seconds);
  }
  for (const auto& row : measured.copiers) {
    out.head("[[measured.copier]]");
    out.put("copier", row.copier);
    out.put("what", row.what);
    out.put("pages", row.pages);
    out.put("size", row.size);
    put_spread<Seconds>(out, row.seconds);
  }
}

}  // namespace

std::string format_machine_file(const Machine& machine, const Measurement* measured) {
  const auto& parts = machine.parts();
  TomlWriter out;
  out.comment("A Terrace machine file; docs/reference/machine-file.md says what each key means.");
  out.raw("schema", "1");
  out.put("name", parts.name);
  if (!parts.description.empty()) out.put("description", parts.description);
  out.put("line", parts.line);
  for (const auto& node : parts.nodes) {
    if (!node.parent && node.name != parts.name) out.put("root", node.name);
  }
  for (const auto& domain : parts.domains) {
    out.head("[[domain]]");
    out.put("name", domain.name);
    out.put("initiator", parts.initiators[domain.initiator].name);
  }
  put_tree(out, parts);
  put_initiators(out, parts);
  put_paths(out, parts);
  put_copiers(out, parts);
  put_orderings(out, parts);
  put_files(out, parts);
  for (const auto& gpu : parts.gpus) out.add(format_gpu(gpu, parts));
  if (measured != nullptr) put_measured(out, parts, *measured);
  return out.take();
}

}  // namespace terrace::machine
