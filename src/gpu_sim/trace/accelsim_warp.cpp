// SPDX-License-Identifier: Apache-2.0
// Parses the instructions of one warp of an Accel-Sim trace and appends its accesses and waits as steps. Called by
// AccelSimReader for each line. See accelsim_warp.hpp.
#include "gpu_sim/trace/accelsim_warp.hpp"

#include <bit>
#include <charconv>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_addresses = std::uint64_t{1} << 57;

enum class Kind : std::uint8_t {
  other,
  load,
  store,
  atomic,
  local_load,
  local_store,
  not_global,  // shared memory, constants
  barrier,
};

struct Opcode {
  std::string_view name;  // the opcode up to its first dot
  Kind kind;
};
constexpr Opcode k_opcodes[] = {
    {"LDG", Kind::load},       {"STG", Kind::store},        {"LD", Kind::load},         {"ST", Kind::store},
    {"LDGSTS", Kind::load},    {"ATOMG", Kind::atomic},     {"ATOM", Kind::atomic},     {"RED", Kind::atomic},
    {"REDG", Kind::atomic},    {"LDL", Kind::local_load},   {"STL", Kind::local_store}, {"LDS", Kind::not_global},
    {"STS", Kind::not_global}, {"ATOMS", Kind::not_global}, {"LDSM", Kind::not_global}, {"STSM", Kind::not_global},
    {"LDC", Kind::not_global}, {"LDCU", Kind::not_global},  {"ULDC", Kind::not_global}, {"BAR", Kind::barrier},
};

std::string_view name_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

Kind kind_of(std::string_view opcode) {
  const auto name = name_of(opcode);
  for (const auto& known : k_opcodes)
    if (known.name == name) return known.kind;
  return Kind::other;
}

bool is_local(Kind kind) { return kind == Kind::local_load || kind == Kind::local_store; }
bool is_memory(Kind kind) {
  return kind == Kind::load || kind == Kind::store || kind == Kind::atomic || is_local(kind);
}

// Returns the bytes per lane that the opcode states in bits, such as LDG.E.128 or LDG.E.U8; 4 if it does not.
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

std::string AccelSimWarp::add(std::string_view line) {
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
  for (std::size_t i = 0; i < sources.count; ++i) {
    use(sources.numbers[i]);
    // Addresses are in pairs of registers, of which the trace names the first.
    if (is_memory(kind)) use(sources.numbers[i] + 1);
  }
  // A register that is overwritten no longer depends on its load.
  for (std::size_t i = 0; i < targets.count; ++i) load_of_[targets.numbers[i] % k_registers] = 0;
  if (kind == Kind::barrier) {
    step(StepKind::barrier);
    return {};
  }
  const auto width = words.number(10, 1024);
  if (!width) return std::string(opcode) + " has no width of its access, which is 0 where it is none";
  if (*width != 0 && lanes != 0) {
    if (kind == Kind::other) return std::string(name_of(opcode)) + " accesses memory, and is not read";
    if (is_memory(kind)) return add_access(words, opcode, lanes, targets);
  }
  ++before_;
  return {};
}

std::string AccelSimWarp::add_access(TraceWords& words, std::string_view opcode, std::uint32_t lanes,
                                     const Registers& targets) {
  std::array<std::uint64_t, k_lanes> addresses{};
  if (!read_addresses(words, lanes, addresses)) return "an access's addresses are not as its mode says";
  const auto kind = kind_of(opcode);
  const auto first = addresses[static_cast<std::size_t>(std::countr_zero(lanes))];
  if (!is_local(kind) && bases_.shared != 0 && first >= bases_.shared && first - bases_.shared < k_window) {
    ++before_;
    return {};
  }
  const auto bytes = bytes_of(opcode);
  const auto first_line = cta_.lines.size();
  for (auto left = lanes; left != 0; left &= left - 1) {
    auto address = addresses[static_cast<std::size_t>(std::countr_zero(left))];
    if (is_local(kind)) {
      if (bases_.local == 0)
        return std::string(name_of(opcode)) +
               " accesses local memory, and the kernel's head has no -local mem base_addr";
      if (address < k_window) address += bases_.local;
      if (address < bases_.local || address - bases_.local >= k_window)
        return std::string(name_of(opcode)) + " accesses an address beyond the 16 MiB of local memory";
    }
    if (address >= k_addresses) return "an address is beyond 57 bits";
    coalesce(cta_.lines, first_line, address, bytes);
  }
  auto& access = step(kind == Kind::load || kind == Kind::local_load     ? StepKind::load
                      : kind == Kind::store || kind == Kind::local_store ? StepKind::store
                                                                         : StepKind::atomic);
  access.lanes = static_cast<std::uint8_t>(std::popcount(lanes));
  access.lines = static_cast<std::uint8_t>(cta_.lines.size() - first_line);
  if (!returns_value(access.kind)) return {};
  ++loads_;
  for (std::size_t i = 0; i < targets.count; ++i)
    for (std::uint32_t word = 0; word < (bytes + 3) / 4; ++word)
      load_of_[(targets.numbers[i] + word) % k_registers] = loads_;
  return {};
}

bool AccelSimWarp::read_registers(TraceWords& words, Registers& registers) {
  const auto count = words.number(10, registers.numbers.size());
  if (!count) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto word = words.next();
    std::uint32_t number = 0;
    // Predicates and uniform registers cannot be filled by a load.
    if (word.empty()) return false;
    if (word.front() != 'R') continue;
    word.remove_prefix(1);
    const auto end = word.data() + word.size();
    if (std::from_chars(word.data(), end, number).ptr != end || number >= k_registers) return false;
    registers.numbers[registers.count++] = number;
  }
  return true;
}

// Reads the addresses: format 0: all; 1: the first and a stride; 2: the first, and differences from the previous
// one.
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

// Appends a wait for the load that fills the register, unless the warp has waited for it.
void AccelSimWarp::use(std::uint32_t number) {
  auto& load = load_of_[number % k_registers];
  if (load == 0) return;
  if (loads_ - load < k_max_loads_back) {
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

}  // namespace terrace::gpu_sim
