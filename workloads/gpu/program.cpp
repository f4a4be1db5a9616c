// Looks GPU programs up by name, and compares their results with the reference. See program.hpp.
#include "workloads/gpu/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace terrace::gpu_sim {
namespace {

template <class List, class Name>
std::string listed(const List& list, Name name) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : ", ") + std::string(name(one));
  return text;
}

}  // namespace

const ProgramSize& GpuProgram::size(std::string_view name) const {
  for (const auto& size : sizes())
    if (size.name == name) return size;
  throw Error(Code::invalid, std::string(this->name()) + " has no size '" + std::string(name) + "'; there are " +
                                 listed(sizes(), [](const auto& size) { return size.name; }));
}

std::vector<std::int64_t> GpuProgram::numbers(std::string_view size, std::int64_t times) const {
  auto numbers = this->size(size).numbers;
  if (times == 1) return numbers;
  const auto name = std::string(this->name());
  const auto at = iterations();
  if (!at)
    throw Error(Code::invalid,
                name + " does not repeat anything: it cannot run " + std::to_string(times) + " times as long");
  if (times < 1 || times > k_max_times)
    throw Error(Code::invalid, name + " can have 1 to " + std::to_string(k_max_times) +
                                   " times as many iterations, not " + std::to_string(times));
  numbers.at(*at) *= times;
  return numbers;
}

const GpuProgram& find_gpu_program(std::string_view name) {
  for (const auto* program : gpu_programs())
    if (program->name() == name) return *program;
  throw Error(Code::invalid, "there is no GPU program '" + std::string(name) + "'; there are " +
                                 listed(gpu_programs(), [](const auto* program) { return program->name(); }) +
                                 "; a trace is FILE.warps or the list kernelslist.g");
}

void Comparison::add(double result, double expected, double floor) {
  ++count_;
  const auto scale = std::max({std::abs(result), std::abs(expected), floor});
  const auto difference = std::abs(result - expected) / scale;
  // NaN counts as infinitely far away.
  largest_ = difference <= largest_ ? largest_ : std::isfinite(difference) ? difference : HUGE_VAL;
}

std::string Comparison::verdict(const std::string& what, double most) const {
  char text[256];
  std::snprintf(text, sizeof text, "%llu %s compared, the largest difference is %.2g, at most %.2g is allowed",
                static_cast<unsigned long long>(count_), what.c_str(), largest_, most);
  if (count_ == 0 || largest_ > most) throw Error(Code::failed, std::string("wrong results: ") + text);
  return text;
}

}  // namespace terrace::gpu_sim
