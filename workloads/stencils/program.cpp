// Parses the arguments of the stencil programs, and compares their results with references. See program.hpp.
#include "workloads/stencils/program.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ranges>

#include "core/error.hpp"
#include "core/unknown_name.hpp"

namespace terrace::stencil::programs {
namespace {

template <class T>
T parsed(const std::string& name, const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(Code::invalid, name + "=" + text + ": a number is needed");
  return number;
}

}  // namespace

const std::string* Arguments::given(const std::string& name) {
  asked_[name] = true;
  const auto found = given_.find(name);
  return found == given_.end() ? nullptr : &found->second;
}

std::int64_t Arguments::number(const std::string& name, std::int64_t otherwise, std::int64_t least) {
  const auto* const text = given(name);
  if (!text) return otherwise;
  const auto number = parsed<std::int64_t>(name, *text);
  if (number < least) throw Error(Code::invalid, name + "=" + *text + ": give at least " + std::to_string(least));
  return number;
}

double Arguments::real(const std::string& name, double otherwise) {
  const auto* const text = given(name);
  if (!text) return otherwise;
  const auto number = parsed<double>(name, *text);
  if (!(std::isfinite(number) && number > 0))
    throw Error(Code::invalid, name + "=" + *text + ": a finite number larger than 0 is needed");
  return number;
}

bool Arguments::flag(const std::string& name, bool otherwise) {
  const auto* const text = given(name);
  if (!text) return otherwise;
  if (*text != "0" && *text != "1") throw Error(Code::invalid, name + "=" + *text + ": it is 0 or 1");
  return *text == "1";
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) {
  const auto* const text = given(name);
  return text ? *text : otherwise;
}

void Arguments::refuse_others() const {
  for (const auto& [name, text] : given_)
    if (!asked_.contains(name)) throw_unknown_name("argument", name, std::views::keys(asked_));
}

void Arguments::refuse_those_beyond(const Arguments& before, const std::string& needed) const {
  for (const auto& [name, text] : given_)
    if (asked_.contains(name) && !before.asked_.contains(name))
      throw Error(Code::invalid, name + "=" + text + " needs " + needed);
}

VirtualOptions virtual_options(Arguments& arguments) {
  VirtualOptions options;
  options.mode = arguments.text("how", options.mode);
  if (const auto memory = arguments.text("memory", ""); !memory.empty()) {
    options.tiers.memory = parse_bytes(memory);
    if (options.tiers.memory.value == 0) throw Error(Code::invalid, "memory=" + memory + ": it is larger than 0");
  }
  if (const auto memory = arguments.text("slow_memory", ""); !memory.empty()) {
    options.tiers.slow_memory = parse_bytes(memory);
    if (options.tiers.slow_memory.value == 0)
      throw Error(Code::invalid, "slow_memory=" + memory + ": it is larger than 0");
  }
  if (const auto rate = arguments.text("bandwidth", ""); !rate.empty()) {
    options.tiers.loop_bandwidth = parse_bandwidth(rate).value;
    if (!(options.tiers.loop_bandwidth > 0))
      throw Error(Code::invalid, "bandwidth=" + rate + ": it is larger than 0");
  }
  options.how.is_tiled = arguments.flag("tiled", true);
  options.how.is_cyclic = arguments.flag("cyclic", true);
  options.how.is_prefetched = arguments.flag("prefetched", true);
  options.how.processes = static_cast<double>(arguments.number("processes", 1, 1));
  return options;
}

void refuse_without_effect(const Arguments& arguments, const VirtualOptions& options) {
  const auto uses = [](const ModeVariant& mode, std::string_view word) {
    return std::ranges::find(mode.words, word) != mode.words.end();
  };
  const auto& chosen = find_mode(options.mode);
  for (const auto* const word : {"memory", "slow_memory", "tiled", "cyclic", "prefetched", "processes"}) {
    if (!arguments.has(word) || uses(chosen, word)) continue;
    std::vector<std::string_view> others;
    for (const auto* mode : modes())
      if (uses(*mode, word)) others.push_back(mode->name);
    throw Error(Code::invalid, std::string(word) + "= has no effect with how=" + options.mode + "; it has with " +
                                   join_names(others));
  }
  for (const auto* const word : {"prefetched", "processes"})
    if (arguments.has(word) && !options.how.is_tiled)
      throw Error(Code::invalid, std::string(word) + "= has no effect with tiled=0");
}

bool Result::holds() const { return allowed <= 0 || std::abs(value - expected) <= allowed * std::abs(expected); }

const StencilProgram& find_stencil_program(std::string_view name) {
  return find_named("stencil program", name, stencil_programs());
}

}  // namespace terrace::stencil::programs
