// Tests the executor `gpu` on a fake driver (fake_cuda), whatever the order of its operations: results are
// bitwise equal to the processor's, the driver's rules are kept, and errors are one line. Kernels are host
// functions.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "ran_program.hpp"
#include "random_chain.hpp"
#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::size_t k_page = 4096;

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  return text;
}

// Every test must keep the rules and release everything.
struct Gpu : testing::Test {
  void SetUp() override { fake_cuda::reset(1, 1000 * k_page, k_page); }
  void TearDown() override {
    EXPECT_EQ(text_of(fake_cuda::violations()), "");
    EXPECT_EQ(text_of(fake_cuda::left()), "");
  }
};

// Enqueues the loop's body as a kernel that uses all bytes from a part's first point to its last.
void put(const DeviceCall& call, const std::function<void(const Call&)>& body) {
  std::vector<fake_cuda::Used> used;
  for (std::size_t a = 0; a < call.loop.arguments.size(); ++a) {
    const auto& argument = call.loop.arguments[a];
    const auto& view = call.views[a];
    const auto range = reached_range(call.range, argument);
    const auto offset = [&](const Point& p) {
      return (p[0] + p[1] * view.row + p[2] * view.plane) * static_cast<std::ptrdiff_t>(argument.element);
    };
    const auto first = offset(range.begin);
    const auto last = offset({range.end[0] - 1, range.end[1] - 1, range.end[2] - 1});
    used.push_back(
        {view.origin + first, static_cast<std::size_t>(last - first) + argument.element, writes(argument.access)});
  }
  // The loop may be destroyed before the kernel runs, if an error ends the chain.
  auto loop = std::make_shared<const Loop>(call.loop);
  std::vector<View> views(call.views, call.views + call.loop.arguments.size());
  std::vector<std::byte*> partials(call.partials, call.partials + call.loop.reductions.size());
  fake_cuda::launch(call.stream, std::move(used), [=, range = call.range] {
    body({*loop, range, views.data(), partials.data()});
  });
}

void prepare(Loop& loop) {
  loop.device = [body = loop.body](const DeviceCall& call) { put(call, body); };
  loop.body = nullptr;
}

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is refused";
}

TEST_F(Gpu, RandomChains_MatchPlainArrays) {
  double in = 0, out = 0;
  auto unmapped = 0;
  for (int i = 0; i < random_chains() / 6; ++i) {
    fake_cuda::reset(static_cast<std::uint64_t>(i), 1000 * k_page, k_page);
    RandomMaker maker(static_cast<std::uint64_t>(i), 6);
    const auto program = maker.make();
    std::set<std::size_t> ends;
    for (std::size_t l = 0; l < program.loops.size(); ++l)
      if (maker.number(0, 3) == 0) ends.insert(l);
    const auto serial = Ran(program, {.executor = "serial"}, 3, ends).results();
    Options options{.executor = "gpu", .memory = static_cast<std::uint64_t>(maker.number(64, 200)) * k_page};
    for (auto& points : options.tile) points = maker.number(0, 20);
    try {
      Ran ran(program, options, 3, ends, nullptr, prepare);
      ASSERT_EQ(ran.results(), serial) << "seed " << i << ", tiles " << options.tile[0] << 'x' << options.tile[1]
                                       << 'x' << options.tile[2] << ", memory " << options.memory;
      in += ran.statistics().bytes_in;
      out += ran.statistics().bytes_out;
      unmapped += fake_cuda::calls("cuMemUnmap");
    } catch (const Error& error) {
      // One plane of each dataset may exceed the memory.
      ASSERT_NE(std::string(error.what()).find(" is too little for a chain of "), std::string::npos)
          << error.what();
    }
    ASSERT_EQ(text_of(fake_cuda::violations()), "") << "seed " << i;
    ASSERT_EQ(text_of(fake_cuda::left()), "") << "seed " << i;
  }
  EXPECT_GT(in, 1e6);
  EXPECT_GT(out, 1e6);
  EXPECT_GT(unmapped, 100);
}

// Sweeps over data several times as large as the memory.
RandomProgram make_sweep_program() {
  RandomProgram program;
  program.size = {100, 600};
  program.halos = {{{-1, -1}, {1, 1}}, {{-1, -1}, {1, 1}}};
  for (std::size_t i = 0; i < 8; ++i) {
    RandomLoop loop{{{0, 100}, {0, 600}}, {}, 0.5, i == 7};
    loop.arguments.push_back({1 - i % 2, Access::write, Stencil{}, {1.0}});
    loop.arguments.push_back({i % 2, Access::read, star(2, 1), {0.1, 0.2, 0.3, 0.2, 0.1}});
    program.loops.push_back(loop);
  }
  return program;
}

const Options k_options{.executor = "gpu", .memory = 64 * k_page};

TEST_F(Gpu, Sweeps_MoveNoUnnecessaryData) {
  const auto program = make_sweep_program();
  const auto serial = Ran(program, {.executor = "serial"}, 4, {7}).results();
  Ran ran(program, k_options, 4, {7}, nullptr, prepare);
  EXPECT_GT(ran.statistics().bytes_in, 64.0 * k_page);
  EXPECT_EQ(ran.results(), serial);
  // Data that fit stay resident, and a chain is one step.
  auto roomy = k_options;
  roomy.memory = 900 * k_page;
  Ran within(program, roomy, 4, {7}, nullptr, prepare);
  EXPECT_EQ(within.statistics().bytes_in, 0);
  EXPECT_EQ(within.statistics().bytes_out, 0);
  EXPECT_EQ(within.statistics().tiles, 4U);
  EXPECT_EQ(within.results(), serial);
}

// Values set between chains are visible, whichever memory their chunks are in.
TEST_F(Gpu, SetAndGet_SeeCurrentValues) {
  std::vector<std::vector<double>> found;
  for (const auto* executor : {"serial", "gpu"}) {
    Engine engine({.executor = executor, .memory = 64 * k_page});
    const auto block = engine.add_block("block", {300, 400});
    const auto a = engine.add_dataset(block, "a", sizeof(double), {});
    const Range whole{{0, 300}, {0, 400}};
    auto& all = found.emplace_back();
    std::mt19937 random(5);
    for (int turn = 0; turn < 12; ++turn) {
      const auto y = static_cast<std::ptrdiff_t>(random() % 380);
      const Range part{{10, 290}, {y, y + 20}};
      std::vector<double> numbers(part.points(), turn + 0.5);
      engine.set(a, part, reinterpret_cast<const std::byte*>(numbers.data()));
      Loop loop;
      loop.name = "add";
      loop.range = {{0, 300}, {0, turn % 2 == 0 ? 400 : 100}};
      loop.arguments = {{a, "a", Access::increment, Stencil{}, {0, 0, 0}, {0, 0, 0}, sizeof(double)}};
      loop.body = [](const Call& call) {
        const auto& view = call.views[0];
        for (auto p = call.range.begin[1]; p < call.range.end[1]; ++p)
          for (auto x = call.range.begin[0]; x < call.range.end[0]; ++x)
            reinterpret_cast<double*>(view.origin)[x + p * view.row] += 1;
      };
      if (executor == std::string("gpu")) prepare(loop);
      engine.add_loop(std::move(loop));
      numbers.resize(whole.points());
      engine.get(a, turn % 3 == 0 ? whole : part, reinterpret_cast<std::byte*>(numbers.data()));
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
  }
  EXPECT_TRUE(found[0] == found[1]);
}

// Values of lines are uploaded for each chain, as of then.
TEST_F(Gpu, Lines_AreUploadedForEachChain) {
  Engine engine({.executor = "gpu", .memory = 64 * k_page});
  const auto block = engine.add_block("block", {7, 5});
  const auto a = engine.add_dataset(block, "a", sizeof(double), {});
  const auto numbers = std::make_shared<std::vector<double>>(5);
  for (const double factor : {1.0, 3.0}) {
    for (std::size_t i = 0; i < 5; ++i) (*numbers)[i] = factor * static_cast<double>(i);
    for (int twice = 0; twice < 2; ++twice) {
      Loop loop;
      loop.name = "add";
      loop.range = {{0, 7}, {0, 5}};
      loop.arguments = {{a, "a", Access::increment, Stencil{}, {0, 0, 0}, {0, 0, 0}, sizeof(double)}};
      loop.lines = {{numbers, reinterpret_cast<const std::byte*>(numbers->data()), 5 * sizeof(double), 1, 0, 5}};
      loop.device = [&](const DeviceCall& call) {
        EXPECT_NE(static_cast<const void*>(call.lines[0]), static_cast<const void*>(numbers->data()));
        put(call, [line = reinterpret_cast<const double*>(call.lines[0])](const Call& part) {
          const auto& view = part.views[0];
          for (auto y = part.range.begin[1]; y < part.range.end[1]; ++y)
            for (auto x = part.range.begin[0]; x < part.range.end[0]; ++x)
              reinterpret_cast<double*>(view.origin)[x + y * view.row] += line[y];
        });
      };
      engine.add_loop(std::move(loop));
    }
    engine.run();
  }
  std::vector<double> found(35);
  engine.get(a, {{0, 7}, {0, 5}}, reinterpret_cast<std::byte*>(found.data()));
  for (std::size_t i = 0; i < 35; ++i) EXPECT_EQ(found[i], 8.0 * static_cast<double>(i / 7));
}

// --- errors ---

TEST_F(Gpu, LoopWithoutDeviceKernel_IsNamed) {
  Context context(k_options);
  const auto block = context.block("block", {8, 6});
  const auto u = block.dataset<double>("u");
  block.loop(
      "start", block.range(), [](auto to) { to() = 1; }, write(u));
  EXPECT_EQ(
      refusal([&] { context.run(); }),
      "loop 'start' has no kernel for a GPU: mark it with TERRACE_STENCIL_KERNEL and compile the program with "
      "nvcc --extended-lambda");
}

TEST_F(Gpu, NoDevice_IsOneLine) {
  fake_cuda::remove_devices();
  EXPECT_EQ(
      refusal([] { Context context(k_options); }),
      "executor=gpu needs a GPU, and none can be used: the driver has no device: choose another executor, or "
      "run where a GPU is");
  fake_cuda::reset(1, 1000 * k_page, k_page);
  fake_cuda::fail("cuInit", 0, 100);
  EXPECT_EQ(
      refusal([] { Context context(k_options); }),
      "executor=gpu needs a GPU, and none can be used: no device: choose another executor, or run where a GPU is");
}

TEST_F(Gpu, DeviceOutOfMemory_IsOneLine) {
  EXPECT_EQ(refusal([] { Context context({.executor = "gpu"}); }),
            "executor=gpu needs memory=SIZE, the GPU memory for datasets: set it to at least 256KiB");
  // In chunks of 64 KiB.
  EXPECT_EQ(refusal([] { Context context({.executor = "gpu", .memory = 2000 * k_page}); }),
            "memory=8000KiB: the GPU can allocate only 3968KiB (out of memory): make memory=SIZE smaller");
  Context context(k_options);
  const auto block = context.block("block", {80, 60});
  fake_cuda::fail("cuMemHostAlloc", 0, 2);
  EXPECT_EQ(refusal([&] { (void)block.dataset<double>("u"); }),
            "no pinned memory for the dataset 'u', 45056 bytes: out of memory: take a smaller problem");
}

// The device fails during kernels or copies; memory stays mapped while other operations may use it.
TEST_F(Gpu, DeviceFailure_EndsChain) {
  const auto program = make_sweep_program();
  for (const auto* function : {"cuEventSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemMap",
                               "cuMemSetAccess", "cuMemUnmap", "cuEventRecord", "launch"}) {
    for (const int after : {0, 3, 20, 60}) {
      fake_cuda::reset(static_cast<std::uint64_t>(after), 1000 * k_page, k_page);
      fake_cuda::fail(function, after, function == std::string("launch") ? 700 : 2);
      const auto text = refusal([&] { Ran ran(program, k_options, 4, {7}, nullptr, prepare); });
      if (text == "nothing is refused") {
        EXPECT_LE(fake_cuda::calls(function), after) << function;
        continue;
      }
      EXPECT_EQ(text.find('\n'), std::string::npos);
      EXPECT_TRUE(text.find("out of memory") != std::string::npos ||
                  text.find("an illegal address") != std::string::npos)
          << text;
    }
  }
}

}  // namespace
}  // namespace terrace::stencil::test
