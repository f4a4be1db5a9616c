// See accelsim_warp.hpp.
#include "sim/gpu/trace/accelsim_warp.hpp"

#include <bit>
#include <charconv>

#include "sim/gpu/trace/coalesce.hpp"

namespace terrace::sim::gpu {
namespace {

constexpr std::uint64_t k_shared_window = std::uint64_t{1} << 24;  // generic addresses that mean shared memory
constexpr std::uint64_t k_addresses = std::uint64_t{1} << 57;

enum class Kind : std::uint8_t { other, load, store, atomic, barrier };

// By the opcode up to its first point.
Kind kind_of(std::string_view opcode) {
  const auto name = opcode.substr(0, opcode.find('.'));
  if (name == "LDG" || name == "LD" || name == "LDL" || name == "LDGSTS") return Kind::load;
  if (name == "STG" || name == "ST" || name == "STL") return Kind::store;
  if (name == "ATOMG" || name == "ATOM" || name == "RED") return Kind::atomic;
  if (name == "BAR") return Kind::barrier;
  return Kind::other;
}

// Of a lane: what the opcode says in bits, such as LDG.E.128 or LDG.E.U8; 4 where it says nothing.
std::uint32_t bytes_of(std::string_view opcode) {
  TraceWords parts(opcode, '.');
  for (auto part = parts.next(); !part.empty(); part = parts.next()) {
    if (part.front() == 'U' || part.front() == 'S') part.remove_prefix(1);
    std::uint32_t bits = 0;
    const auto end = part.data() + part.size();
    if (std::from_chars(part.data(), end, bits).ptr != end) continue;
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128) return bits / 8;
  }
  return 4;
}

}  // namespace

std::string_view TraceWords::next() {
  while (!left_.empty() && left_.front() == between_) left_.remove_prefix(1);
  const auto word = left_.substr(0, left_.find(between_));
  left_.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> TraceWords::number(int base, std::uint64_t most) {
  auto word = next();
  if (base == 16 && word.starts_with("0x")) word.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size() || number > most)
    return std::nullopt;
  return number;
}

std::optional<std::int64_t> TraceWords::signed_number() {
  const auto word = next();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

const char* AccelSimWarp::add(std::string_view line) {
  TraceWords words(line, ' ');
  const auto counter = words.number(16, 0xffffffff);
  const auto mask = words.number(16, 0xffffffff);
  Registers targets, sources;
  if (!counter || !mask) return "an instruction begins with its address and the mask of its lanes";
  if (!read_registers(words, targets)) return "an instruction's targets are a number of registers, and these";
  const auto opcode = words.next();
  if (opcode.empty()) return "an instruction has no opcode";
  if (!read_registers(words, sources)) return "an instruction's sources are a number of registers, and these";
  const auto lanes = static_cast<std::uint32_t>(*mask);
  const auto kind = kind_of(opcode);
  const bool is_memory = kind != Kind::other && kind != Kind::barrier;
  for (std::size_t i = 0; i < sources.count; ++i) {
    use(sources.numbers[i]);
    // Addresses are pairs of registers, of which the trace names the first.
    if (is_memory) use(sources.numbers[i] + 1);
  }
  // What is written again is not waited for any more.
  for (std::size_t i = 0; i < targets.count; ++i) load_of_[targets.numbers[i] % k_registers] = 0;
  if (kind == Kind::barrier) {
    step(StepKind::barrier);
    return nullptr;
  }
  if (!is_memory || lanes == 0) {
    ++before_;
    return nullptr;
  }
  return add_access(words, opcode, lanes, targets);
}

const char* AccelSimWarp::add_access(TraceWords& words, std::string_view opcode, std::uint32_t lanes,
                                     const Registers& targets) {
  const auto width = words.number(10, 1024);
  if (!width) return "an access has no width";
  if (*width == 0) {
    ++before_;
    return nullptr;
  }
  std::array<std::uint64_t, k_lanes> addresses{};
  if (!read_addresses(words, lanes, addresses)) return "an access's addresses are not as its mode says";
  const auto first = addresses[static_cast<std::size_t>(std::countr_zero(lanes))];
  if (shared_base_ != 0 && first >= shared_base_ && first - shared_base_ < k_shared_window) {
    ++before_;
    return nullptr;
  }
  const auto bytes = bytes_of(opcode);
  const auto first_line = cta_.lines.size();
  for (auto left = lanes; left != 0; left &= left - 1) {
    const auto address = addresses[static_cast<std::size_t>(std::countr_zero(left))];
    if (address >= k_addresses) return "an address is beyond 57 bits";
    coalesce(cta_.lines, first_line, address, bytes);
  }
  const auto kind = kind_of(opcode);
  auto& access = step(kind == Kind::load    ? StepKind::load
                      : kind == Kind::store ? StepKind::store
                                            : StepKind::atomic);
  access.lanes = static_cast<std::uint8_t>(std::popcount(lanes));
  access.lines = static_cast<std::uint8_t>(cta_.lines.size() - first_line);
  if (!brings(access.kind)) return nullptr;
  ++loads_;
  for (std::size_t i = 0; i < targets.count; ++i)
    for (std::uint32_t word = 0; word < (bytes + 3) / 4; ++word)
      load_of_[(targets.numbers[i] + word) % k_registers] = loads_;
  return nullptr;
}

bool AccelSimWarp::read_registers(TraceWords& words, Registers& registers) {
  const auto count = words.number(10, registers.numbers.size());
  if (!count) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto word = words.next();
    std::uint32_t number = 0;
    // Predicates and uniform registers are no registers that a load fills.
    if (word.empty()) return false;
    if (word.front() != 'R') continue;
    word.remove_prefix(1);
    const auto end = word.data() + word.size();
    if (std::from_chars(word.data(), end, number).ptr != end || number >= k_registers) return false;
    registers.numbers[registers.count++] = number;
  }
  return true;
}

// 0: each; 1: the first and a stride; 2: the first and differences of each from the one before.
bool AccelSimWarp::read_addresses(TraceWords& words, std::uint32_t lanes,
                                  std::array<std::uint64_t, k_lanes>& addresses) {
  const auto mode = words.number(10, 2);
  if (!mode) return false;
  std::uint64_t last = 0;
  std::int64_t stride = 0;
  bool is_first = true;
  for (auto left = lanes; left != 0; left &= left - 1) {
    if (is_first || *mode == 0) {
      const auto address = words.number(16, ~std::uint64_t{0});
      if (!address) return false;
      last = *address;
      if (is_first && *mode == 1) {
        const auto said = words.signed_number();
        if (!said) return false;
        stride = *said;
      }
    } else {
      const auto difference = *mode == 1 ? std::optional(stride) : words.signed_number();
      if (!difference) return false;
      last += static_cast<std::uint64_t>(*difference);
    }
    is_first = false;
    addresses[static_cast<std::size_t>(std::countr_zero(left))] = last;
  }
  return true;
}

void AccelSimWarp::use(std::uint32_t number) {
  auto& load = load_of_[number % k_registers];
  if (load == 0) return;
  if (loads_ - load < k_most_loads_back) {
    const auto back = loads_ - load + 1;
    step(StepKind::use).back = back;
  }
  const auto waited = load;
  for (auto& other : load_of_)
    if (other == waited) other = 0;
}

Step& AccelSimWarp::step(StepKind kind) {
  auto& step = cta_.steps.emplace_back();
  step.before = before_;
  step.kind = kind;
  before_ = 0;
  return step;
}

}  // namespace terrace::sim::gpu
