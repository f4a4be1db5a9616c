// terrace-stencils NAME [ARGUMENT=VALUE ...]: runs a stencil program and prints its results and statistics as
// JSON. TERRACE_STENCIL selects the executor (terrace/stencil/options.hpp). Exit status: 1 if a result is not
// as expected or the system refuses, 2 for a usage error. Without a name, or with --help, it lists the programs.
// terrace-stencils-mpi is the same on several ranks, of which rank 0 prints; times, messages and bytes of
// exchanges are its own.
//
// With machine=FILE no kernel runs: the chains are priced on that machine in virtual time
// (src/stencil/virtual). how=NAME is the mode that uses its two fastest memories, memory=SIZE the capacity of
// the fast one, slow_memory=SIZE that of the slow one, bandwidth=RATE what the program's loops reach in the
// fast one; tiled=0, cyclic=0, prefetched=0 switch these features off; processes=N run the chains. Arguments
// without effect on the mode are refused.
//
// With needs=1 no kernel runs either: the program prints the minimum traffic of each chain (chain_needs.hpp).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "machine/file/machine_file.hpp"
#include "stencil/virtual/virtual_run.hpp"
#include "workloads/stencils/chain_needs.hpp"
#include "workloads/stencils/launch.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

using Json = nlohmann::ordered_json;

int list() {
  for (const auto* program : stencil_programs())
    std::printf("%-14s %s\n  %s\n%s\n", std::string(program->name()).c_str(),
                std::string(program->title()).c_str(), std::string(program->source()).c_str(),
                std::string(program->arguments()).c_str());
  return 0;
}

bool asks_help(std::string_view word) { return word == "--help" || word == "-h"; }

Arguments parse(int count, char** words) {
  std::map<std::string, std::string> given;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, word + ": an argument is NAME=VALUE");
    const auto name = word.substr(0, equals);
    if (equals + 1 == word.size()) throw Error(Code::invalid, word + ": a value is needed");
    if (!given.emplace(name, word.substr(equals + 1)).second)
      throw Error(Code::invalid, name + "= is there twice");
  }
  return Arguments(std::move(given));
}

int run_virtually(const StencilProgram& program, const std::string& file, Arguments& arguments) {
  if (const auto* const words = std::getenv("TERRACE_STENCIL"); words && *words != '\0')
    throw Error(Code::invalid,
                std::string("TERRACE_STENCIL=") + words +
                    " has no effect with machine=FILE, where no kernel runs: unset it; how=, memory= "
                    "and the like say how chains run there");
  const auto options = virtual_options(arguments);
  refuse_without_effect(arguments, options);
  VirtualRun run(machine::load_machine(file).machine, options);
  const auto results = program.run(run.context(), arguments);
  run.context().run();
  const auto& counts = run.counts();
  const Json out{{"schema", 1},
                 {"program", program.name()},
                 {"machine", run.machine()},
                 {"mode", run.mode()},
                 {"dataset_bytes", run.dataset_bytes()},
                 {"fast_bytes", run.tiers().fast_bytes},
                 {"slow_bytes", run.tiers().slow_bytes},
                 {"copies", run.copies()},
                 {"seconds", counts.seconds},
                 {"loop_seconds", counts.loop_seconds},
                 {"copy_seconds", counts.copy_seconds},
                 {"overlap", counts.overlap()},
                 {"bandwidth", counts.seconds > 0 ? counts.accesses / counts.seconds : 0},
                 {"accesses", counts.accesses},
                 {"hits", counts.hits},
                 {"bytes_in", counts.bytes_in},
                 {"bytes_out", counts.bytes_out},
                 {"tiles", counts.tiles},
                 {"untiled_chains", counts.untiled_chains},
                 {"shortened_chains", run.context().statistics().shortened_chains},
                 {"chains", run.context().statistics().chains},
                 {"loops", run.context().statistics().loops}};
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

int count_needs(const StencilProgram& program, Arguments& arguments) {
  Needs needs;
  {
    auto context = counting_context(needs);
    static_cast<void>(program.run(context, arguments));
    context.run();
  }
  Json out{{"schema", 1},
           {"program", program.name()},
           {"dataset_bytes", needs.dataset_bytes},
           {"chains", Json::array()}};
  for (const auto& chain : needs.chains)
    out["chains"].push_back({{"loops", chain.loops}, {"in", chain.in}, {"out", chain.out}});
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

int run(const Launch& launch, int count, char** words) {
  const auto& program = find_stencil_program(words[1]);
  auto arguments = parse(count, words);
  if (const auto file = arguments.text("machine", ""); !file.empty())
    return launch.is_first() ? run_virtually(program, file, arguments) : 0;
  arguments.refuse_those_of([](Arguments& of_machine) { (void)virtual_options(of_machine); },
                            "machine=FILE; on this machine TERRACE_STENCIL says how chains run");
  if (arguments.flag("needs", false)) return launch.is_first() ? count_needs(program, arguments) : 0;
  auto context = launch.context();
  const auto start = std::chrono::steady_clock::now();
  const auto results = program.run(context, arguments);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto& done = context.statistics();
  Json out{{"schema", 1},
           {"program", program.name()},
           {"executor", context.options().executor},
           {"seconds", seconds.count()},
           {"chain_seconds", done.seconds},
           {"chains", done.chains},
           {"loops", done.loops},
           {"longest_chain", done.longest_chain},
           {"transfers", done.transfers},
           {"transferred_bytes", done.transferred_bytes},
           {"tiles", done.tiles},
           {"bytes", done.bytes},
           {"bandwidth", done.seconds > 0 ? done.bytes / done.seconds : 0},
           {"bytes_in", done.bytes_in},
           {"bytes_out", done.bytes_out},
           {"waited", done.waited},
           {"copied_in", done.copied_in},
           {"copied_out", done.copied_out},
           {"shortened_chains", done.shortened_chains}};
  for (const auto& [name, loop] : done.by_loop)
    out["by_loop"][name] = {{"count", loop.count}, {"bytes", loop.bytes}, {"seconds", loop.seconds}};
  if (launch.ranks() > 1)
    out.update({{"ranks", launch.ranks()},
                {"exchanges", done.exchanges},
                {"messages", done.messages},
                {"exchanged_bytes", done.exchanged_bytes},
                {"exchange_seconds", done.exchange_seconds},
                {"redundant_bytes", done.redundant_bytes}});
  auto holds = true;
  for (const auto& result : results) {
    auto& one = out["results"][result.name];
    one["value"] = result.value;
    if (result.allowed > 0) {
      one["expected"] = result.expected;
      one["allowed"] = result.allowed;
      one["holds"] = result.holds();
    }
    holds = holds && result.holds();
  }
  if (launch.is_first()) std::printf("%s\n", out.dump(1).c_str());
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace terrace::stencil::programs

int main(int count, char** words) {
  using namespace terrace::stencil::programs;
  const Launch launch(count, words);
  try {
    if (count < 2 || asks_help(words[1])) return launch.is_first() ? list() : 0;
    return run(launch, count, words);
  } catch (const terrace::Error& error) {
    return launch.failed(error.what(), error.code() == terrace::Code::invalid ? 2 : 1);
  } catch (const std::exception& error) {
    return launch.failed(error.what(), 1);
  }
}
