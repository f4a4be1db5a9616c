// SPDX-License-Identifier: Apache-2.0
// Decodes the bytecode of CPython and finds its loops. See python_code.hpp.
#include "runtime/mpi/python_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace terrace::runtime {

namespace {

using observe::BlockIndex;
using observe::ControlFlow;
using observe::k_no_block;

enum class Flow : std::uint8_t {
  k_next,      // the next instruction follows
  k_end,       // none follows in the function
  k_forward,   // jumps to a relative target
  k_backward,  // jumps back to a relative target
  k_absolute,  // jumps to an absolute target
  k_setup,     // protects the code up to the relative target, a handler
};

struct Opcode {
  std::uint8_t number;
  Flow flow;
  bool is_conditional = false;  // the next instruction may follow, too
  std::uint8_t num_caches = 0;  // code units after the instruction, from which the jump is relative
};

// From the modules `opcode` and `dis` of each version. JUMP_BACKWARD_NO_INTERRUPT repeats `await` and `yield from`
// of one object, which are no loops of the source, so it counts as k_next.
constexpr Opcode k_opcodes_3_9[] = {
    {83, Flow::k_end},              // RETURN_VALUE
    {130, Flow::k_end},             // RAISE_VARARGS
    {48, Flow::k_end},              // RERAISE
    {113, Flow::k_absolute},        // JUMP_ABSOLUTE
    {111, Flow::k_absolute, true},  // JUMP_IF_FALSE_OR_POP
    {112, Flow::k_absolute, true},  // JUMP_IF_TRUE_OR_POP
    {114, Flow::k_absolute, true},  // POP_JUMP_IF_FALSE
    {115, Flow::k_absolute, true},  // POP_JUMP_IF_TRUE
    {121, Flow::k_absolute, true},  // JUMP_IF_NOT_EXC_MATCH
    {110, Flow::k_forward},         // JUMP_FORWARD
    {93, Flow::k_forward, true},    // FOR_ITER
    {122, Flow::k_setup, true},     // SETUP_FINALLY
    {143, Flow::k_setup, true},     // SETUP_WITH
    {154, Flow::k_setup, true},     // SETUP_ASYNC_WITH
};
// 3.10 differs from 3.9 in RERAISE, and counts targets in code units.
constexpr Opcode k_opcodes_3_10[] = {
    {83, Flow::k_end},
    {130, Flow::k_end},
    {119, Flow::k_end},
    {113, Flow::k_absolute},
    {111, Flow::k_absolute, true},
    {112, Flow::k_absolute, true},
    {114, Flow::k_absolute, true},
    {115, Flow::k_absolute, true},
    {121, Flow::k_absolute, true},
    {110, Flow::k_forward},
    {93, Flow::k_forward, true},
    {122, Flow::k_setup, true},
    {143, Flow::k_setup, true},
    {154, Flow::k_setup, true},
};
constexpr Opcode k_opcodes_3_11[] = {
    {83, Flow::k_end},              // RETURN_VALUE
    {130, Flow::k_end},             // RAISE_VARARGS
    {119, Flow::k_end},             // RERAISE
    {110, Flow::k_forward},         // JUMP_FORWARD
    {93, Flow::k_forward, true},    // FOR_ITER
    {111, Flow::k_forward, true},   // JUMP_IF_FALSE_OR_POP
    {112, Flow::k_forward, true},   // JUMP_IF_TRUE_OR_POP
    {114, Flow::k_forward, true},   // POP_JUMP_FORWARD_IF_FALSE
    {115, Flow::k_forward, true},   // POP_JUMP_FORWARD_IF_TRUE
    {128, Flow::k_forward, true},   // POP_JUMP_FORWARD_IF_NOT_NONE
    {129, Flow::k_forward, true},   // POP_JUMP_FORWARD_IF_NONE
    {123, Flow::k_forward, true},   // SEND
    {140, Flow::k_backward},        // JUMP_BACKWARD
    {173, Flow::k_backward, true},  // POP_JUMP_BACKWARD_IF_NOT_NONE
    {174, Flow::k_backward, true},  // POP_JUMP_BACKWARD_IF_NONE
    {175, Flow::k_backward, true},  // POP_JUMP_BACKWARD_IF_FALSE
    {176, Flow::k_backward, true},  // POP_JUMP_BACKWARD_IF_TRUE
};
constexpr Opcode k_opcodes_3_12[] = {
    {83, Flow::k_end},                // RETURN_VALUE
    {121, Flow::k_end},               // RETURN_CONST
    {130, Flow::k_end},               // RAISE_VARARGS
    {119, Flow::k_end},               // RERAISE
    {110, Flow::k_forward},           // JUMP_FORWARD
    {93, Flow::k_forward, true, 1},   // FOR_ITER
    {114, Flow::k_forward, true},     // POP_JUMP_IF_FALSE
    {115, Flow::k_forward, true},     // POP_JUMP_IF_TRUE
    {128, Flow::k_forward, true},     // POP_JUMP_IF_NOT_NONE
    {129, Flow::k_forward, true},     // POP_JUMP_IF_NONE
    {123, Flow::k_forward, true, 1},  // SEND
    {140, Flow::k_backward},          // JUMP_BACKWARD
};
constexpr Opcode k_opcodes_3_13[] = {
    {36, Flow::k_end},                 // RETURN_VALUE
    {103, Flow::k_end},                // RETURN_CONST
    {101, Flow::k_end},                // RAISE_VARARGS
    {102, Flow::k_end},                // RERAISE
    {79, Flow::k_forward},             // JUMP_FORWARD
    {72, Flow::k_forward, true, 1},    // FOR_ITER
    {97, Flow::k_forward, true, 1},    // POP_JUMP_IF_FALSE
    {98, Flow::k_forward, true, 1},    // POP_JUMP_IF_NONE
    {99, Flow::k_forward, true, 1},    // POP_JUMP_IF_NOT_NONE
    {100, Flow::k_forward, true, 1},   // POP_JUMP_IF_TRUE
    {104, Flow::k_forward, true, 1},   // SEND
    {77, Flow::k_backward, false, 1},  // JUMP_BACKWARD
};

struct Dialect {
  std::span<const Opcode> opcodes;
  std::uint8_t extended_arg;
  std::uint8_t for_iter;
  std::uint32_t target_unit;  // bytes that a jump's argument counts in
};

constexpr int k_first_minor = 9;
constexpr std::array<Dialect, 5> k_dialects{{
    {k_opcodes_3_9, 144, 93, 1},
    {k_opcodes_3_10, 144, 93, 2},
    {k_opcodes_3_11, 144, 93, 2},
    {k_opcodes_3_12, 144, 93, 2},
    {k_opcodes_3_13, 71, 72, 2},
}};

// Adds the edges of all instructions. Returns false where the code is malformed.
class Decoder {
 public:
  Decoder(const Dialect& dialect, std::span<const std::uint8_t> code, ControlFlow& flow)
      : dialect_(dialect), code_(code), flow_(flow) {
    for (const auto& one : dialect.opcodes) by_number_[one.number] = &one;
    flow_.successors.resize(code.size() / 2);
    is_for_.resize(flow_.successors.size());
  }

  bool decode() {
    std::uint32_t argument = 0;
    BlockIndex begin = 0;  // of the instruction, its prefixes included
    for (BlockIndex block = 0; block < flow_.successors.size(); ++block) {
      const auto number = code_[std::size_t{block} * 2];
      argument = argument << 8 | code_[std::size_t{block} * 2 + 1];
      if (!add(block, by_number_[number], argument)) return false;
      if (number == dialect_.extended_arg) continue;
      is_for_[begin] = number == dialect_.for_iter;
      argument = 0;
      begin = block + 1;
    }
    return true;
  }
  // Adds the edges to handlers. Entries are (begin, length, target, depth and lasti), numbers of six bits a byte,
  // of which bit 6 says that more follow and bit 7 that an entry begins. See CPython,
  // Objects/exception_handling_notes.txt.
  bool add_handlers(std::span<const std::uint8_t> table) {
    std::size_t at = 0;
    const auto number = [&] {
      std::uint32_t value = 0;
      for (bool more = true; more && at < table.size(); ++at) {
        value = value << 6 | (table[at] & 63U);
        more = (table[at] & 64U) != 0;
      }
      return value;
    };
    while (at < table.size()) {
      const auto begin = number();
      const auto length = number();
      const auto target = number();
      number();
      if (!protect(begin, std::uint64_t{begin} + length, target)) return false;
    }
    return true;
  }
  // Returns whether the block advances the iterator of a `for`.
  [[nodiscard]] bool is_for(BlockIndex block) const { return is_for_[block]; }

 private:
  bool add(BlockIndex block, const Opcode* opcode, std::uint32_t argument) {
    auto& next = flow_.successors[block];
    if (!opcode || opcode->is_conditional) {
      if (block + 1 < flow_.successors.size()) next.push_back(block + 1);
    }
    if (!opcode || opcode->flow == Flow::k_end) return true;
    const std::int64_t distance = std::int64_t{argument} * dialect_.target_unit / 2;
    const std::int64_t origin = std::int64_t{block} + 1 + opcode->num_caches;
    auto target = distance;
    if (opcode->flow == Flow::k_backward) target = origin - distance;
    if (opcode->flow == Flow::k_forward || opcode->flow == Flow::k_setup) target = origin + distance;
    if (target < 0 || target >= static_cast<std::int64_t>(flow_.successors.size())) return false;
    const auto to = static_cast<BlockIndex>(target);
    if (opcode->flow == Flow::k_setup) return protect(block, to, to);
    next.push_back(to);
    return true;
  }
  bool protect(BlockIndex begin, std::uint64_t end, BlockIndex handler) {
    if (end > flow_.successors.size() || handler >= flow_.successors.size()) return false;
    for (auto block = begin; block < end; ++block) flow_.successors[block].push_back(handler);
    return true;
  }

  const Dialect& dialect_;
  std::span<const std::uint8_t> code_;
  ControlFlow& flow_;
  std::array<const Opcode*, 256> by_number_{};
  std::vector<bool> is_for_;
};

// Returns, by head of a `while`, the instruction of least line among the head and those that jump back to it. From
// 3.10 the condition is tested before the loop and again at its end, so the head is the body.
std::map<BlockIndex, BlockIndex> find_statements(const Decoder& decoder, const ControlFlow& flow,
                                                 const observe::LoopForest& forest,
                                                 const PythonCode::LineOf& line_of) {
  std::map<BlockIndex, BlockIndex> statements;
  for (BlockIndex block = 0; block < flow.successors.size(); ++block)
    for (const auto head : flow.successors[block]) {
      if (head > block || !forest.is_head[head] || decoder.is_for(head) || !forest.contains(head, block)) continue;
      auto& statement = statements.try_emplace(head, head).first->second;
      const auto line = line_of(2 * block);
      if (line >= 0 && line < line_of(2 * statement)) statement = block;
    }
  return statements;
}

}  // namespace

bool can_decode(PythonVersion version) {
  return version.major == 3 && version.minor >= k_first_minor &&
         version.minor < k_first_minor + static_cast<int>(k_dialects.size());
}

PythonCode::PythonCode(PythonVersion version, std::span<const std::uint8_t> code,
                       std::span<const std::uint8_t> exceptions, const LineOf& line_of) {
  if (!can_decode(version)) return;
  Decoder decoder(k_dialects[static_cast<std::size_t>(version.minor - k_first_minor)], code, flow_);
  if (!decoder.decode() || !decoder.add_handlers(exceptions)) {
    flow_ = {};
    return;
  }
  forest_ = observe::find_loops(flow_);
  statements_ = find_statements(decoder, flow_, forest_, line_of);
  // `continue` jumps to the first test of such a `while`, and makes another loop around the one that the last test
  // makes: they are one.
  for (const auto& [head, statement] : statements_) {
    const auto outer = forest_.around[head];
    if (outer == k_no_block || statement == head || line_of(2 * statement) != line_of(2 * outer)) continue;
    for (Block block = head; block < forest_.around.size(); ++block)
      if (forest_.contains(head, block)) std::ranges::replace(flow_.successors[block], head, outer);
    forest_.is_head[head] = false;
    std::ranges::replace(forest_.around, head, outer);
  }
}

std::vector<PythonOffset> PythonCode::loops_at(PythonOffset offset) const {
  std::vector<PythonOffset> loops;
  const auto block = offset / 2;
  if (block >= forest_.around.size()) return loops;
  for (auto head = forest_.loop_of(block); head != k_no_block; head = parent(head)) loops.push_back(2 * head);
  std::ranges::reverse(loops);
  return loops;
}

std::optional<PythonOffset> PythonCode::ended_loop(PythonOffset from, PythonOffset to) const {
  const std::pair blocks(from / 2, to / 2);
  if (std::max(blocks.first, blocks.second) >= forest_.around.size()) return std::nullopt;
  const auto [known, is_new] = ended_.try_emplace(blocks);
  if (is_new) {
    auto head = forest_.loop_of(blocks.first);
    while (head != k_no_block && !forest_.contains(head, blocks.second)) head = parent(head);
    if (head != k_no_block && !is_ahead(blocks.first, blocks.second, head)) known->second = 2 * head;
  }
  return known->second;
}

// Returns whether the second block can be reached from the first one within an iteration of the loop.
bool PythonCode::is_ahead(Block from, Block to, Block head) const {
  std::vector<bool> seen(flow_.successors.size());
  std::vector<Block> open{from};
  while (!open.empty()) {
    const auto block = open.back();
    open.pop_back();
    for (const auto next : flow_.successors[block]) {
      if (next == head || seen[next]) continue;
      if (next == to) return true;
      seen[next] = true;
      open.push_back(next);
    }
  }
  return false;
}

PythonOffset PythonCode::statement_of(PythonOffset head) const {
  const auto found = statements_.find(head / 2);
  return found == statements_.end() ? head : 2 * found->second;
}

}  // namespace terrace::runtime
