// SPDX-License-Identifier: Apache-2.0
// Passes the accesses of a trace through a machine's caches, and counts the misses by object and instruction, for
// `terrace lab misses`. See trace_misses.hpp.
#include "tracer/trace_misses.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "tracer/hierarchy.hpp"
#include "tracer/trace_program.hpp"

namespace terrace::tracer {

namespace {

// Maps code addresses to their owner: mapped files, and the tracer's own part.
class CodeRanges {
 public:
  struct Owner {
    std::uint64_t low = 0, high = 0;
    TraceCode code = TraceCode::libraries;
    std::string name;
  };
  explicit CodeRanges(const TraceProgram& program) : program_(program) {}

  // Adds the code that a record brings in: a mapped file, or the tracer's memory functions.
  void add(const TraceRecord& record) {
    const bool ours = record.kind == TraceKind::code;
    auto name = ours ? std::string(record.text) : std::filesystem::path(record.text).filename().string();
    if (name.empty()) return;
    owners_.push_back({record.address, record.address + record.size,
                       ours ? TraceCode::memory_functions : TraceCode::libraries, std::move(name)});
    last_ = nullptr;
  }
  [[nodiscard]] TraceCode code_of(std::uint64_t pc) {
    if (program_.is_code(pc)) return TraceCode::program;
    const auto* const owner = owner_of(pc);
    return owner ? owner->code : TraceCode::libraries;
  }
  [[nodiscard]] std::string name_of(std::uint64_t pc) {
    if (program_.is_code(pc)) return program_.describe(pc);
    const auto* const owner = owner_of(pc);
    return owner ? owner->name : "(the dynamic linker)";  // QEMU loads it before the program runs
  }

 private:
  // Returns the owner that was added last: it lies in what was mapped before.
  const Owner* owner_of(std::uint64_t pc) {
    if (last_ && pc >= last_->low && pc < last_->high) return last_;
    const auto found = std::find_if(owners_.rbegin(), owners_.rend(),
                                    [&](const Owner& owner) { return pc >= owner.low && pc < owner.high; });
    if (found == owners_.rend()) return nullptr;
    // Only a range that nothing is in may be remembered.
    if (found->code == TraceCode::memory_functions) last_ = &*found;
    return &*found;
  }

  const TraceProgram& program_;
  std::vector<Owner> owners_;
  const Owner* last_ = nullptr;
};

// Counts while it reads the records of one trace.
class Count {
 public:
  Count(const TraceHeader& header, const TraceMissesOptions& options)
      : program_(header),
        memory_(program_, options.big_block),
        code_(program_),
        caches_(options.caches),
        line_bits_(static_cast<unsigned>(std::countr_zero(options.caches.line.value))),
        whole_run_(options.whole_run) {}

  void record(const TraceRecord& record) {
    if (record.kind == TraceKind::access) return access(record);
    switch (record.kind) {
      case TraceKind::allocate:
        memory_.change(record, caller(record));
        break;
      case TraceKind::code:
        code_.add(record);
        break;
      case TraceKind::loop_begin:
        begin_loop();
        break;
      case TraceKind::phase:
        counting_ = counting_ || in_loop_;
        break;
      case TraceKind::loop_end:
        in_loop_ = false;
        counting_ = whole_run_;
        break;
      default:
        if (record.kind == TraceKind::map) code_.add(record);
        memory_.change(record, {});
    }
  }
  TraceMisses take();

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // object, instruction

  void access(const TraceRecord& record);
  // Discards what was counted before the first main loop, unless the whole run is counted.
  void begin_loop() {
    in_loop_ = true;
    if (whole_run_ || loops_seen_) return;
    loops_seen_ = true;
    counting_ = false;
    accesses_ = {};
    lines_.clear();
  }
  // Describes the requester of a block: the call, if it is the program's own; otherwise (operator new is a
  // library's) the program's last store before it, which on many machines is the call into the library.
  [[nodiscard]] std::string caller(const TraceRecord& record) const {
    if (program_.is_code(record.pc)) return program_.describe(record.pc - 1);
    const auto pc = record.thread < callers_.size() ? callers_[record.thread] : 0;
    return pc == 0 ? "(block)" : program_.describe(pc);
  }

  TraceProgram program_;
  TraceMemory memory_;
  CodeRanges code_;
  Hierarchy caches_;
  unsigned line_bits_;
  bool whole_run_;
  bool loops_seen_ = false;
  bool in_loop_ = false;
  bool counting_ = true;
  std::vector<std::uint64_t> callers_;  // by thread
  std::array<std::uint64_t, k_trace_codes> accesses_{};
  std::map<Key, std::uint64_t> lines_;
};

// Passes an access to the caches, in parts that lie in one line and one object.
void Count::access(const TraceRecord& record) {
  const auto code = code_.code_of(record.pc);
  if (code == TraceCode::program && record.flag) {
    if (record.thread >= callers_.size()) callers_.resize(record.thread + 1);
    callers_[record.thread] = record.pc;
  }
  if (counting_) ++accesses_[static_cast<std::size_t>(code)];
  const auto line = std::uint64_t{1} << line_bits_;
  auto address = record.address;
  for (auto left = record.size; left > 0;) {
    const auto found = memory_.find(address);
    const auto here = std::min({left, found.left, line - (found.canonical & (line - 1))});
    if (caches_.access(record.thread, found.canonical >> line_bits_, record.flag) && counting_)
      ++lines_[{found.object, record.pc}];
    address += here;
    left -= here;
  }
}

// Returns the result: misses by object, and by the name of the code, most first.
TraceMisses Count::take() {
  TraceMisses result;
  result.loops_only = loops_seen_ && !whole_run_;
  result.accesses = accesses_;
  for (const auto& object : memory_.objects()) result.objects.push_back({object, {}});
  std::map<std::tuple<std::uint32_t, TraceCode, std::string>, std::uint64_t> by_site;
  for (const auto& [key, lines] : lines_) {
    const auto code = code_.code_of(key.second);
    result.objects[key.first].lines[static_cast<std::size_t>(code)] += lines;
    by_site[{key.first, code, code_.name_of(key.second)}] += lines;
  }
  for (const auto& [site, lines] : by_site)
    result.places.push_back({std::get<0>(site), std::get<1>(site), std::get<2>(site), lines});
  std::stable_sort(result.places.begin(), result.places.end(),
                   [](const auto& a, const auto& b) { return a.lines > b.lines; });
  return result;
}

}  // namespace

TraceMisses find_misses(TraceReader& trace, const TraceMissesOptions& options) {
  Count count(trace.header(), options);
  TraceRecord record;
  while (trace.next(record)) count.record(record);
  auto result = count.take();
  result.ending = trace.ending();
  return result;
}

}  // namespace terrace::tracer
