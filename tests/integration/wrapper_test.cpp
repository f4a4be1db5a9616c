// Tests the compiler wrappers with real compilers: the results of builds, and how they run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/wrapper/wrapper_command.hpp"
#include "core/error.hpp"
#include "run_program.hpp"

namespace terrace {
namespace {

namespace fs = std::filesystem;
using cli::WrapperLanguage;
using test::Outcome;
using test::run_program;

// A temporary directory with sources.
class WrapperBuilds : public ::testing::Test {
 protected:
  WrapperBuilds() : folder_(fs::temp_directory_path() / ("wrapper-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    write("main.c",
          "#include <string.h>\n#include <stdio.h>\nint twice(int);\nint table[100];\n"
          "struct Big { char bytes[64]; } from, to;\n"
          "int main(int n, char** w) { (void)w; table[n] = 21; memcpy(&to, &from, sizeof to);\n"
          "  printf(\"%d\\n\", twice(table[n])); return n - 1; }\n");
    write("twice.c", "int twice(int n) { return 2 * n; }\n");
    write("plus.cpp",
          "#include <iostream>\n#include <vector>\nint main() { std::vector<int> v(1000, 3);\n"
          "  int sum = 0; for (int x : v) sum += x; std::cout << sum << '\\n'; }\n");
    write("fields.f90",
          "program fields\n  real :: a(1000)\n  a = 2.0\n  print '(i4)', int(sum(a))\nend program\n");
  }
  ~WrapperBuilds() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  // In the folder, the wrappers by their names.
  Outcome shell(const std::string& command) const {
    return run_program("cd '" + folder_.string() + "' && PATH=" TERRACE_WRAPPERS ":$PATH && " + command + " 2>&1");
  }
  Outcome good(const std::string& command) const {
    auto outcome = shell(command);
    EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.output;
    return outcome;
  }
  bool has_hooks(const std::string& object) const {
    return shell("nm " + object).output.find("__tsan_write4") != std::string::npos;
  }

  fs::path folder_;
};

TEST_F(WrapperBuilds, Build_InOneStepOrTwo_Works) {
  EXPECT_EQ(good("terrace-cc -Wall -Wextra -Werror main.c twice.c -o one && ./one").output, "42\n");
  good("terrace-cc -O2 -c main.c && terrace-cc -O2 -c twice.c");
  EXPECT_TRUE(has_hooks("main.o"));
  EXPECT_NE(shell("nm main.o").output.find("U memcpy"), std::string::npos) << "a copy of constant size is seen";
  EXPECT_EQ(good("terrace-cc main.o twice.o -o two && ./two").output, "42\n");
  const auto needed = good("readelf -d two").output;
  EXPECT_NE(needed.find("libterrace.so"), std::string::npos);
  EXPECT_EQ(needed.find("libtsan"), std::string::npos);
}

TEST_F(WrapperBuilds, Build_EveryLanguage_Works) {
  EXPECT_EQ(good("terrace-c++ -O2 plus.cpp -o plus && ./plus").output, "3000\n");
  if (run_program("command -v gfortran").status != 0) GTEST_SKIP() << "no gfortran";
  EXPECT_EQ(good("terrace-fc -O2 -Werror fields.f90 -o fields && ./fields").output, "2000\n");
  EXPECT_EQ(good("terrace-cc -O2 -Werror -c fields.f90 && terrace-fc fields.o -o again && ./again").output,
            "2000\n");
}

// Tail calls that the plain compiler turns into jumps: by name and by pointer, of integers and floating-point
// numbers and of nothing, and of coroutines. Each would need more stack than there is.
TEST_F(WrapperBuilds, TailCalls_Optimised_NeedConstantStack) {
  write(
      "tail.c",
      "#include <stdio.h>\n#include <stdlib.h>\nstatic long* table;\n"
      "#define PAIR(type, name) \\\n"
      "  static type name##_odd(long n, type a); \\\n"
      "  __attribute__((noinline)) static type name##_even(long n, type a) { \\\n"
      "    table[n & 255] += n; return n == 0 ? a : name##_odd(n - 1, a + 1); } \\\n"
      "  __attribute__((noinline)) static type name##_odd(long n, type a) { \\\n"
      "    table[n & 127] -= n; return n == 0 ? -a : name##_even(n - 1, a + 1); }\n"
      "PAIR(long, whole)\nPAIR(int, word)\nPAIR(double, real)\n"
      "static void (*step[2])(long);\n"
      "static void first(long n) { table[n & 63]++; if (n) step[n & 1](n - 1); }\n"
      "static void second(long n) { table[n & 31]++; if (n) step[n & 1](n - 1); }\n"
      "int main(void) {\n  table = calloc(256, sizeof *table);\n  step[0] = first; step[1] = second;\n"
      "  step[1](1000000);\n"
      "  printf(\"%ld %d %.0f\\n\", whole_even(1000000, 0), word_even(1000000, 0), real_even(1000000, 0));\n}\n");
  for (const std::string compiler : {"gcc", "clang"}) {
    if (run_program("command -v " + compiler).status != 0) continue;
    good("TERRACE_CC=" + compiler + " terrace-cc -O2 -g -fPIC tail.c -o tail");
    EXPECT_NE(shell("nm -D tail").output.find("__tsan_func_exit"), std::string::npos) << compiler;
    EXPECT_EQ(good("ulimit -s 1024 && ./tail").output, "1000000 1000000 1000000\n") << compiler;
  }
  if (run_program("command -v clang").status == 0) {
    for (const std::string steps : {"-fPIC -S tail.c && $CC tail.s", "-fPIC -S tail.c -o x && mv x x.s && $CC x.s",
                                    "-g -gsplit-dwarf -c tail.c && $CC tail.o"}) {
      good("rm -f tail tail.s tail.o x.s; export TERRACE_CC=clang CC=terrace-cc; $CC -O2 " + steps + " -o tail");
      EXPECT_EQ(good("ulimit -s 1024 && ./tail").output, "1000000 1000000 1000000\n") << steps;
    }
    const auto kept = good("TERRACE_CC=clang terrace-cc -O2 -save-temps tail.c -o tail");
    EXPECT_NE(kept.output.find("-save-temps is ignored"), std::string::npos) << kept.output;
    EXPECT_EQ(good("ulimit -s 1024 && ./tail").output, "1000000 1000000 1000000\n");
    EXPECT_NE(shell("test -e tail.bc").status, 0);
  }
  // Without the optimisation the plain compiler's program has no constant stack either.
  EXPECT_EQ(shell("terrace-cc -O2 -fno-optimize-sibling-calls -c tail.c && nm tail.o").output.find("exit_tail"),
            std::string::npos);
}

TEST_F(WrapperBuilds, Coroutines_SymmetricTransfer_NeedConstantStack) {
  write("await.cpp",
        R"(// 200,000 awaits in a row by symmetric transfer: constant stack by the language. Prints 100000.
#include <coroutine>
#include <cstdio>
#include <exception>

struct Task {
  struct promise_type {
    std::coroutine_handle<> continuation;
    int value = 0;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
        const auto next = handle.promise().continuation;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(int result) { value = result; }
    void unhandled_exception() { std::terminate(); }
  };
  explicit Task(std::coroutine_handle<promise_type> of) : handle(of) {}
  Task(Task&& other) noexcept : handle(other.handle) { other.handle = nullptr; }
  ~Task() {
    if (handle) handle.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle.promise().continuation = caller;
    return handle;
  }
  int await_resume() { return handle.promise().value; }
  std::coroutine_handle<promise_type> handle;
};

Task leaf(int i) { co_return i & 1; }
Task loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += co_await leaf(i);
  co_return sum;
}

int main() {
  auto task = loop(200000);
  task.handle.resume();
  std::printf("%d\n", task.handle.promise().value);
}
)");
  int tried = 0;
  for (const std::string compiler : {"g++", "clang++", "clang++ -fcoroutines-ts"}) {
    if (shell(compiler + " -std=c++20 -O2 await.cpp -o plain && ./plain").status != 0) continue;
    ++tried;
    const auto space = compiler.find(' ');
    good("TERRACE_CXX=" + compiler.substr(0, space) + " terrace-c++ -std=c++20 -O2 await.cpp -o await" +
         (space == std::string::npos ? "" : compiler.substr(space)));
    EXPECT_EQ(good("ulimit -s 1024 && ./await").output, "100000\n") << compiler;
  }
  EXPECT_NE(tried, 0);
}

TEST_F(WrapperBuilds, Build_WithClang_Works) {
  if (run_program("command -v clang").status != 0) GTEST_SKIP() << "no clang";
  good("TERRACE_CXX=clang++ terrace-c++ -O3 -c plus.cpp && TERRACE_CXX=clang++ terrace-c++ plus.o -o plus");
  EXPECT_NE(shell("nm plus.o").output.find("__tsan_func_entry"), std::string::npos);
  EXPECT_EQ(good("./plus").output, "3000\n");
  EXPECT_EQ(shell("readelf -d plus").output.find("libtsan"), std::string::npos);
  if (shell("clang -O2 -flto main.c twice.c -o plain").status == 0) {
    good("TERRACE_CC=clang terrace-cc -O2 -flto main.c twice.c -o lto");
    EXPECT_EQ(good("./lto").output, "42\n");
    EXPECT_NE(shell("nm -D lto").output.find("__tsan_write4"), std::string::npos);
  }
  // A library of one compiler, a program of another.
  EXPECT_EQ(
      good("TERRACE_CC=clang terrace-cc -fPIC -shared twice.c -o libtwice.so && terrace-cc main.c -L. -ltwice"
           " -Wl,-rpath,. -o mixed && ./mixed")
          .output,
      "42\n");
  EXPECT_EQ(good("TERRACE_CC=clang terrace-cc -O3 main.c twice.c -o one && ./one").output, "42\n");
  good("TERRACE_CC=clang terrace-cc -O3 -c main.c");
  EXPECT_TRUE(has_hooks("main.o"));
}

// MPI's compilers are wrappers, too, of the compiler that a variable of theirs names.
TEST_F(WrapperBuilds, Build_UnderMpiCompilers_Works) {
  write("ranks.c",
        "#include <mpi.h>\n#include <stdio.h>\nstatic int table[1000];\n"
        "int main(int n, char** w) {\n  MPI_Init(&n, &w);\n  int ranks, mine = 0, all;\n"
        "  MPI_Comm_size(MPI_COMM_WORLD, &ranks);\n  for (int i = 0; i < 1000; ++i) table[i] = i;\n"
        "  for (int i = 0; i < 1000; ++i) mine += table[i];\n"
        "  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
        "  printf(\"%d\\n\", all / ranks);\n  MPI_Finalize();\n}\n");
  struct {
    const char* plain;
    std::string hooked;
  } const compilers[] = {{"mpicc.mpich", "MPICH_CC=terrace-cc mpicc.mpich"},
                         {"mpicc.openmpi", "OMPI_CC=terrace-cc mpicc.openmpi"}};
  int tried = 0;
  for (const auto& [mpicc, hooked] : compilers) {
    if (shell(mpicc + std::string(" ranks.c -o plain")).status != 0) continue;
    ++tried;
    for (const char* words : {" -O2 -Wall -Werror -c ranks.c", " ranks.o -o two", " -O2 ranks.c -o one"})
      good(hooked + words);
    EXPECT_TRUE(has_hooks("ranks.o")) << mpicc;
    for (const char* program : {"one", "two"}) {
      EXPECT_NE(shell("readelf -d " + std::string(program)).output.find("libterrace.so"), std::string::npos);
      // Each rank as always; alone, since starting several is the machine's affair.
      EXPECT_EQ(good("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ./" + std::string(program)).output,
                "499500\n")
          << mpicc;
    }
  }
  if (tried == 0) GTEST_SKIP() << "no MPI compiler that works";
}

TEST_F(WrapperBuilds, Build_SharedLibraries_Works) {
  EXPECT_EQ(
      good("terrace-cc -fPIC -shared twice.c -o libtwice.so && terrace-cc main.c -L. -ltwice -Wl,-rpath,. -o with"
           " && ./with")
          .output,
      "42\n");
  // A plain program that loads an instrumented library.
  EXPECT_EQ(good("gcc main.c -L. -ltwice -Wl,-rpath,. -o plain && ./plain").output, "42\n");
}

TEST_F(WrapperBuilds, LinkTimeOptimisation_InstrumentedCode_KeepsTheHooks) {
  good(
      "terrace-cc -O2 -flto -c main.c && terrace-cc -O2 -flto -c twice.c && terrace-cc -O2 -flto main.o twice.o "
      "-o lto");
  EXPECT_EQ(good("./lto").output, "42\n");
  EXPECT_NE(shell("nm -D lto").output.find("__tsan_write4"), std::string::npos);
}

TEST_F(WrapperBuilds, StaticSanitizer_Linked_IsReplaced) {
  EXPECT_EQ(good("terrace-cc -static-libtsan main.c twice.c -o one && ./one").output, "42\n");
  EXPECT_NE(shell("readelf -d one").output.find("libterrace.so"), std::string::npos);
}

TEST_F(WrapperBuilds, Preprocessing_SanitizerMacros_AreHidden) {
  write("macro.c", "#ifdef __SANITIZE_THREAD__\nseen\n#else\nhidden\n#endif\n");
  EXPECT_NE(good("terrace-cc -E macro.c").output.find("\nhidden\n"), std::string::npos);
}

TEST_F(WrapperBuilds, Wrapper_SwitchedOff_MakesTheSameObject) {
  good("gcc -O2 -c main.c -o plain.o && TERRACE_WRAPPER=off terrace-cc -O2 -c main.c -o off.o");
  EXPECT_EQ(shell("cmp plain.o off.o").status, 0);
}

TEST_F(WrapperBuilds, ResponseFile_PassedToTheWrapper_ReachesTheCompiler) {
  write("words", "-O2 -c main.c\n-o 'from words.o'\n");
  good("terrace-cc @words");
  EXPECT_TRUE(has_hooks("'from words.o'"));
}

TEST_F(WrapperBuilds, ShowOption_AnyCommand_PrintsWithoutRunning) {
  const auto shown = good("terrace-cc --terrace-show -c main.c -o shown.o").output;
  EXPECT_TRUE(shown.starts_with("gcc -fsanitize=thread ")) << shown;
  EXPECT_FALSE(fs::exists(folder_ / "shown.o"));
}

TEST_F(WrapperBuilds, CompilerError_StatusAndMessages_ArePassedThrough) {
  write("wrong.c", "int main(void) { return nothing; }\n");
  EXPECT_EQ(shell("terrace-cc -c wrong.c").status, 1);
  EXPECT_EQ(shell("terrace-cc -static main.c twice.c").status, 2);
  const auto missing = shell("TERRACE_CC=no-such-compiler terrace-cc -c main.c");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.output.find("TERRACE_CC"), std::string::npos);
  EXPECT_EQ(good("terrace-cc --version").output, run_program("gcc --version").output);
}

TEST_F(WrapperBuilds, FortranModule_UsedByAProgram_Compiles) {
  if (run_program("command -v gfortran").status != 0) GTEST_SKIP() << "no gfortran";
  write("marked.f90",
        "program marked\n  use terrace\n  implicit none\n  double precision :: u(10000)\n  integer :: it, status\n"
        "  character(len=12) :: place\n"
        "  u = 1\n  status = terrace_object('my u', u, sizeof(u))\n  status = status + terrace_value('n', 2d0) + "
        "terrace_refs('my u', '2*n')\n  status = status + terrace_depends('one', 'my u', 1)\n"
        "  call terrace_loop_begin('main')\n"
        "  do it = 1, 2\n    call terrace_phase('one  ')\n    u = u + 1\n    call terrace_phase('two')\n  end do\n"
        "  call terrace_loop_end()\n  call terrace_where(u, place)\n"
        "  print '(i0,1x,i0,1x,a,l2,f8.1)', status, terrace_active(), '['//place//']', terrace_seconds() >= 0, "
        "sum(u)\n"
        "end program\n");
  good("terrace-fc -c " TERRACE_SOURCE_DIR "/include/terrace/terrace.f90");
  EXPECT_EQ(good("terrace-fc marked.f90 -o marked && ./marked").output, "12 0 [            ] T 30000.0\n")
      << "without terrace it is not active, and nothing else changes";
}

}  // namespace
}  // namespace terrace
