// SPDX-License-Identifier: Apache-2.0
// Writes a problem as JSON for solvers outside of the core: the linear programs of the Python package
// (python/terrace/solve), and experiments. Numbers have the shortest digits that round-trip.
#include <charconv>
#include <cstdio>

#include "model/problem.hpp"

namespace terrace::model {
namespace {

// Builds a JSON text from keys, values and brackets, and inserts the commas.
class Json {
 public:
  void key(const char* name) {
    separate();
    string(name);
    text_ += ':';
    fresh_ = true;
  }
  void open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    fresh_ = false;
  }
  void value(const std::string& text) {
    separate();
    string(text);
  }
  void value(double number) {
    separate();
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
  }
  void value(std::uint64_t number) {
    separate();
    text_ += std::to_string(number);
  }
  void value(bool truth) {
    separate();
    text_ += truth ? "true" : "false";
  }
  template <class T>
  void field(const char* name, const T& content) {
    key(name);
    value(content);
  }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  void string(const std::string& text) {
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text_ += escape;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }
  std::string text_;
  bool fresh_ = true;
};

void write_places(Json& json, const Problem& problem) {
  json.key("places");
  json.open('[');
  for (const auto& place : problem.places) {
    json.open('{');
    json.field("name", place.name);
    json.field("kind", place.kind);
    json.field("domain", std::uint64_t{place.domain});
    json.field("budget", place.budget.value);
    json.field("read_bandwidth", place.read_bandwidth);
    json.field("write_bandwidth", place.write_bandwidth);
    json.field("latency", place.latency);
    json.close('}');
  }
  json.close(']');
  json.field("copier", problem.copier);
  json.key("copy");
  json.open('[');
  for (const auto& row : problem.copy) {
    json.open('[');
    for (const auto bandwidth : row) json.value(bandwidth);
    json.close(']');
  }
  json.close(']');
  json.key("homes");
  json.open('[');
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    json.value(std::uint64_t{home_of(problem, static_cast<DomainId>(d))});
  }
  json.close(']');
  json.key("fastest_first");
  json.open('[');
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    json.open('[');
    for (const auto place : fastest_first(problem, static_cast<DomainId>(d))) json.value(std::uint64_t{place});
    json.close(']');
  }
  json.close(']');
}

void write_items(Json& json, const Problem& problem) {
  json.key("objects");
  json.open('[');
  for (const auto& object : problem.objects) {
    json.open('{');
    json.field("name", object.name);
    json.field("size", object.size.value);
    json.field("chunks", std::uint64_t{object.chunks});
    json.close('}');
  }
  json.close(']');
  json.key("items");
  json.open('[');
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    json.open('{');
    json.field("size", item.size.value);
    json.field("domain", std::uint64_t{item.domain});
    json.field("object", std::uint64_t{item.object});
    json.field("ordinal", std::uint64_t{item.ordinal});
    json.field("chunks", std::uint64_t{item.chunks});
    json.field("remapping", item.remapping);
    json.field("stall", item.stall);
    if (item.pinned != k_no_place) json.field("pinned", std::uint64_t{item.pinned});
    json.field("measured_at", std::uint64_t{problem.measured_at[i]});
    json.close('}');
  }
  json.close(']');
}

void write_phases(Json& json, const Problem& problem) {
  json.key("phases");
  json.open('[');
  for (const auto& phase : problem.phases) {
    json.open('{');
    json.field("name", phase.name);
    json.field("core", phase.core.value);
    json.field("measured", phase.measured.value);
    json.field("unexplained", phase.unexplained.value);
    json.field("samples", phase.samples);
    json.field("samples_with_access", phase.samples_with_access);
    // [item, bytes read, bytes written, latencies exposed, samples, and of prefetched lines: bytes, latencies]
    json.key("cells");
    json.open('[');
    for (const auto& cell : phase.cells) {
      json.open('[');
      json.value(std::uint64_t{cell.item});
      json.value(cell.read_bytes);
      json.value(cell.write_bytes);
      json.value(cell.exposure);
      json.value(cell.samples);
      json.value(cell.streamed_bytes);
      json.value(cell.streamed_exposure);
      json.close(']');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string dump_json(const Problem& problem) {
  Json json;
  json.open('{');
  json.field("schema", std::string("terrace-problem-3"));
  json.field("machine", problem.machine);
  json.field("loop", problem.loop);
  json.field("cores", problem.cores);
  json.field("asking", problem.asking);
  json.field("touch_waits", problem.touch_waits);
  json.field("cyclic", problem.cyclic);
  json.field("exact", problem.exact);
  write_places(json, problem);
  write_items(json, problem);
  write_phases(json, problem);
  json.close('}');
  return json.take();
}

}  // namespace terrace::model
