// SPDX-License-Identifier: Apache-2.0
// Parses and formats traces of PIM allocations (trace.hpp has the format); parse errors name file and line. Used
// by the recorder, and by the replays of `terrace lab pim`.
#include "pim/trace/trace.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

constexpr std::string_view k_magic = "terrace-pim-trace";
constexpr std::string_view k_places[] = {"subarray", "bank", "device"};  // indexed by Within

std::string_view name(Within within) { return k_places[static_cast<std::size_t>(within)]; }

// Quotes user input for an error message: shortened to one line, without control characters.
std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > 60 ? "...'" : "'");
}

// Splits a line into words, reads numbers from them, and throws errors that name file and line.
class Line {
 public:
  Line(std::string_view text, const std::string& file, std::uint32_t number) : file_(file), number_(number) {
    text = text.substr(0, text.find('#'));
    while (true) {
      const auto begin = text.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) return;
      const auto end = std::min(text.find_first_of(" \t\r", begin), text.size());
      words_.push_back(text.substr(begin, end - begin));
      text.remove_prefix(end);
    }
  }

  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] bool done() const { return at_ == words_.size(); }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::string_view next(const char* what) {
    if (done()) refuse(std::string(what) + ": missing; add it");
    return words_[at_++];
  }
  void end() const {
    if (!done()) refuse(shown(words_[at_]) + " is one word too many; remove it");
  }
  [[noreturn]] void refuse(const std::string& text) const {
    throw Error(Code::invalid, file_ + ":" + std::to_string(number_) + ": " + text);
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view word, const char* what, Number least) const {
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < least)
      refuse(std::string(what) + ": " + shown(word) + " is no number from " + std::to_string(least) + " to " +
             std::to_string(std::numeric_limits<Number>::max()));
    return value;
  }
  [[nodiscard]] std::uint32_t next_count(const char* what, std::uint32_t least = 1) {
    return number<std::uint32_t>(next(what), what, least);
  }
  [[nodiscard]] std::uint64_t next_id() { return number<std::uint64_t>(next("the block's number"), "block", 1); }

  [[nodiscard]] Within within(std::string_view word, const char* what) const {
    const auto* const at = std::ranges::find(k_places, word);
    if (at == std::end(k_places))
      refuse(std::string(what) + ": " + shown(word) + " is none of subarray, bank and device");
    return static_cast<Within>(at - std::begin(k_places));
  }

 private:
  const std::string& file_;
  std::uint32_t number_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

// Splits "key=value" if the key matches.
std::optional<std::string_view> value_of(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.substr(key.size(), 1) != "=") return std::nullopt;
  return word.substr(key.size() + 1);
}

// Parses a trace line by line and checks each against the blocks that are live by then.
class Parser {
 public:
  enum class State : std::uint8_t { alive, released, never };  // ids of blocks

  explicit Parser(const std::string& file) : file_(file) {}

  Trace parse(std::string_view text) {
    std::uint32_t number = 0;
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      Line line(text.substr(0, end), file_, ++number);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty()) continue;
      if (begun_)
        read_operation(line);
      else
        read_header(line);
      line.end();
    }
    const Line last("", file_, std::max(number, std::uint32_t{1}));
    if (!begun_) no_trace(last);
    if (group_left_ > 0)
      last.refuse("the group of line " + std::to_string(group_line_) + " has " + std::to_string(group_left_) +
                  " allocations fewer than it says; add them, or say so many less");
    return std::move(trace_);
  }

 private:
  // Returns an example of a first line, for errors.
  static std::string example() {
    auto text = format_header({1024, 65536, 16, 8, 1});
    text.pop_back();
    return text;
  }

  [[noreturn]] static void no_trace(const Line& line) {
    line.refuse("this is no trace of allocations; begin it with '" + example() + "'");
  }

  void read_header(Line& line) {
    if (line.next("the word terrace-pim-trace") != k_magic) no_trace(line);
    if (const auto version = line.next_count("version"); version != k_trace_version)
      line.refuse("this trace has version " + std::to_string(version) + "; this Terrace reads version " +
                  std::to_string(k_trace_version));
    auto& geometry = trace_.geometry;
    while (!line.done()) {
      const auto word = line.next("a dimension");
      if (const auto devices = value_of(word, "devices"))
        geometry.devices = line.number<std::uint32_t>(*devices, "devices", 1);
      else if (const auto banks = value_of(word, "banks"))
        geometry.banks = line.number<std::uint32_t>(*banks, "banks", 1);
      else if (const auto subarrays = value_of(word, "subarrays"))
        geometry.subarrays = line.number<std::uint32_t>(*subarrays, "subarrays", 1);
      else if (const auto rows = value_of(word, "rows"))
        geometry.rows = line.number<std::uint32_t>(*rows, "rows", 1);
      else if (const auto columns = value_of(word, "columns"))
        geometry.columns = line.number<std::uint32_t>(*columns, "columns", 1);
      else
        line.refuse(shown(word) + " is no dimension; write for example '" + example() + "'");
    }
    try {
      check(geometry);
    } catch (const Error& error) {
      line.refuse(error.what());
    }
    begun_ = true;
  }

  void read_operation(Line& line) {
    Operation operation;
    operation.line = line.number();
    const auto what = line.next("the operation");
    if (group_left_ > 0 && what != "a")
      line.refuse(shown(what) + " stands where the group of line " + std::to_string(group_line_) + " has " +
                  std::to_string(group_left_) + " more allocations; add them first");
    if (what == "a")
      read_allocation(line, operation);
    else if (what == "g")
      read_group(line, operation);
    else if (what == "f")
      read_release(line, operation);
    else
      line.refuse(shown(what) + " is no operation; those are a (allocate), g (group) and f (free)");
    trace_.operations.push_back(operation);
  }

  void read_group(Line& line, Operation& operation) {
    operation.kind = Operation::Kind::group;
    operation.members = line.next_count("the group's size");
    if (operation.members > k_max_group)
      line.refuse("a group of " + std::to_string(operation.members) + " blocks; a group has at most " +
                  std::to_string(k_max_group));
    if (!line.done()) {
      const auto word = line.next("share");
      const auto share = value_of(word, "share");
      if (!share) line.refuse(shown(word) + " is no option of a group; write for example 'g 2 share=subarray'");
      operation.share = line.within(*share, "share");
    }
    group_left_ = operation.members;
    group_line_ = line.number();
  }

  void read_release(Line& line, Operation& operation) {
    operation.kind = Operation::Kind::release;
    operation.id = line.next_id();
    need_alive(line, operation.id) = State::released;
  }

  // Parses "a ID ROWS SUBARRAYS [OPTION...] [= OUTCOME]": a block of so many rows in so many neighbouring
  // subarrays. The option beside=ID places it in the subarray, bank or device of an earlier block.
  void read_allocation(Line& line, Operation& operation) {
    operation.id = line.next_id();
    auto& request = operation.request;
    request.shape.rows = line.next_count("rows");
    request.shape.subarrays = line.next_count("subarrays");
    while (!line.done()) {
      const auto word = line.next("an option");
      if (word == "=") {
        operation.outcome = read_outcome(line, request.shape);
        break;
      }
      read_option(line, word, operation);
    }
    check_request(line, request);
    if (group_left_ > 0) {
      if (operation.beside != 0) line.refuse("a block of a group has no 'beside'; remove it");
      --group_left_;
    }
    const bool lives = !operation.outcome || operation.outcome->block;
    if (!blocks_.emplace(operation.id, lives ? State::alive : State::never).second)
      line.refuse("a second block is called " + std::to_string(operation.id) + "; give it another number");
  }

  void read_option(Line& line, std::string_view word, Operation& operation) {
    auto& request = operation.request;
    if (word == "h" || word == "v") {
      request.dim = word == "h" ? Dim::horizontal : Dim::vertical;
    } else if (word == "first" || word == "best") {
      request.fit = word == "first" ? Fit::first : Fit::best;
    } else if (const auto within = value_of(word, "in")) {
      request.within = line.within(*within, "in");
    } else if (const auto share = value_of(word, "share")) {
      request.share = line.within(*share, "share");
    } else if (const auto align = value_of(word, "align")) {
      const auto x = std::min(align->find('x'), align->size());
      request.row_alignment = line.number<std::uint32_t>(align->substr(0, x), "rows to align to", 1);
      if (x < align->size())
        request.subarray_alignment = line.number<std::uint32_t>(align->substr(x + 1), "subarrays to align to", 1);
    } else if (const auto beside = value_of(word, "beside")) {
      operation.beside = line.number<std::uint64_t>(*beside, "beside", 1);
      need_alive(line, operation.beside);
    } else {
      line.refuse(shown(word) +
                  " is no option; those are h, v, first, best, in=, align=, beside=, share= and, last, = "
                  "followed by the outcome");
    }
  }

  Outcome read_outcome(Line& line, const Shape& shape) const {
    const auto word = line.next("the outcome: device, subarray and row, or - for no room");
    if (word == "-") return {};
    const auto& geometry = trace_.geometry;
    Block block{line.number<std::uint32_t>(word, "device", 0), line.next_count("subarray", 0),
                line.next_count("row", 0), shape};
    if (block.device >= geometry.devices || std::uint64_t{block.subarray} + shape.subarrays > geometry.width() ||
        std::uint64_t{block.row} + shape.rows > geometry.rows)
      line.refuse("a block there does not lie inside of " + describe(geometry) +
                  "; correct this line, or the device in the first line");
    return {block};
  }

  // Refuses requests that no allocator accepts: more rows or subarrays than the device has, an alignment of 0.
  void check_request(const Line& line, const Request& request) const {
    try {
      group_left_ > 0 ? check_member(trace_.geometry, request) : check(trace_.geometry, request);
    } catch (const Error& error) {
      line.refuse(error.what());
    }
  }

  // Returns the state of a block that an operation names; refuses blocks that are not live.
  State& need_alive(const Line& line, std::uint64_t id) {
    const auto block = blocks_.find(id);
    if (block != blocks_.end() && block->second == State::alive) return block->second;
    const auto* const why = block == blocks_.end() ? " has not been allocated; that line must come first"
                            : block->second == State::released ? " was released before; remove this line"
                                                               : " found no room; remove this line";
    line.refuse("block " + std::to_string(id) + why);
  }

  const std::string& file_;
  Trace trace_;
  bool begun_ = false;
  std::uint32_t group_left_ = 0;  // allocations of the group still to come
  std::uint32_t group_line_ = 0;
  std::unordered_map<std::uint64_t, State> blocks_;
};

}  // namespace

Trace parse_trace(std::string_view text, const std::string& file) { return Parser(file).parse(text); }

Trace read_trace(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(Code::not_found, path.string() + ": trace file not found; name one that BMEM_TRACE=FILE wrote");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // Inserting an empty buffer would set the stream's failbit, but reading an empty file is no failure.
  const bool is_read = static_cast<bool>(in);
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!is_read || in.bad() || !text)
    throw Error(Code::failed, "the trace " + path.string() + " cannot be read; name a readable file");
  return parse_trace(text.view(), path.string());
}

std::string format_header(const Geometry& geometry) {
  const auto part = [](const char* what, std::uint32_t count) {
    return std::string(" ") + what + "=" + std::to_string(count);
  };
  return std::string(k_magic) + " " + std::to_string(k_trace_version) + part("devices", geometry.devices) +
         part("banks", geometry.banks) + part("subarrays", geometry.subarrays) + part("rows", geometry.rows) +
         part("columns", geometry.columns) + "\n";
}

std::string format_operation(const Operation& operation) {
  if (operation.kind == Operation::Kind::release) return "f " + std::to_string(operation.id) + "\n";
  if (operation.kind == Operation::Kind::group)
    return "g " + std::to_string(operation.members) + " share=" + std::string(name(operation.share)) + "\n";
  const auto& request = operation.request;
  auto text = "a " + std::to_string(operation.id) + " " + std::to_string(request.shape.rows) + " " +
              std::to_string(request.shape.subarrays);
  text += request.dim == Dim::horizontal ? " h" : " v";
  if (request.fit == Fit::best) text += " best";
  if (request.within != Within::device) text += " in=" + std::string(name(request.within));
  if (request.row_alignment != 1 || request.subarray_alignment != 1)
    text += " align=" + std::to_string(request.row_alignment) + "x" + std::to_string(request.subarray_alignment);
  if (operation.beside != 0)
    text += " beside=" + std::to_string(operation.beside) + " share=" + std::string(name(request.share));
  if (operation.outcome) {
    text += " =";
    if (const auto& block = operation.outcome->block)
      text += " " + std::to_string(block->device) + " " + std::to_string(block->subarray) + " " +
              std::to_string(block->row);
    else
      text += " -";
  }
  return text + "\n";
}

std::string format_trace(const Trace& trace) {
  auto text = format_header(trace.geometry);
  for (const auto& operation : trace.operations) text += format_operation(operation);
  return text;
}

std::string describe(const Outcome& outcome) {
  if (!outcome.block) return "no room";
  return "device " + std::to_string(outcome.block->device) + ", subarray " +
         std::to_string(outcome.block->subarray) + ", row " + std::to_string(outcome.block->row);
}

}  // namespace terrace::pim
