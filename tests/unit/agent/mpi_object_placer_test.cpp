// SPDX-License-Identifier: Apache-2.0
// Tests which pages of MPI's objects are bound: a made-up MPI library maps files, and the kernel tells the
// policy of each page (get_mempolicy(2)). One memory node is enough for that.
#include "agent/mpi_objects/mpi_object_placer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/process.hpp"
#include "core/rounding.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace terrace::agent {

// Defined by the injected library, of which this test has no more.
constinit ProcessPointers g_pointers;
constinit thread_local const char* t_mpi_library = nullptr;

namespace {

namespace fs = std::filesystem;

constexpr const char* k_names[] = {"Init", "Alloc_mem", "Free_mem", "Win_allocate", "Barrier"};
enum Function : std::uint16_t { k_init, k_alloc_mem, k_free_mem, k_win_allocate, k_barrier };
constexpr std::uint64_t k_info = 7, k_world = 5;  // handles; MPICH's null info is another
std::string g_place_in_info;                      // value of terrace_place; "": not set

int get_version(char* text, int* length) {
  std::strcpy(text, "Made-up MPI v1.5 of a test\nmore");
  *length = static_cast<int>(std::strlen(text));
  return 0;
}
int get_rank(std::uint64_t, int* rank) { return *rank = 1, 0; }
int get_size(std::uint64_t, int* size) { return *size = 2, 0; }
int get_info(std::uint64_t, const char* key, int, char* value, int* is_set) {
  *is_set = std::strcmp(key, "terrace_place") == 0 && !g_place_in_info.empty() ? 1 : 0;
  if (*is_set != 0) std::strcpy(value, g_place_in_info.c_str());
  return 0;
}

constexpr const char* k_table = R"toml(
[library]
name = "Made-up MPI"
version = "Made-up MPI v1.*"
file = "*"

[[object]]
name = "cells"
kind = "cells"
created = "init"
mapping = "*/terrace_test_cells*"
inside = "MPI_Init"
size = "P + N * 8 * P"
count = 1
header = "P"
slice = "8 * P"
bind = true

[[object]]
name = "segments"
kind = "eager"
created = "init"
mapping = ["*/terrace_test_segment*", "sysv"]
inside = "MPI_Init"
size = "4 * P"
count = "N"
bind = true

[[object]]
name = "flags"
kind = "control"
created = "init"
mapping = "*/terrace_test_flags*"
size = "P"

[[object]]
name = "windows"
kind = "windows"
created = "window"
mapping = "*/terrace_test_window*"
inside = "MPI_Win_allocate"
size = "P * ceil(total / P)"
count = 1
slice = "size"
bind = true

[[object]]
name = "memory"
kind = "alloc_mem"
created = "alloc_mem"
mapping = "anonymous"
inside = "MPI_Alloc_mem"
size = "size + 16"
bind = true
)toml";

}  // namespace

const char* terrace_mpi_function_name(std::size_t index) noexcept {
  return index < std::size(k_names) ? k_names[index] : nullptr;
}
std::size_t terrace_mpi_num_arguments(std::size_t) noexcept { return 0; }
void* terrace_mpi_real(const char* name) noexcept {
  const std::string_view asked(name);
  if (asked == "PMPI_Get_library_version") return reinterpret_cast<void*>(&get_version);
  if (asked == "PMPI_Comm_rank") return reinterpret_cast<void*>(&get_rank);
  if (asked == "PMPI_Comm_size") return reinterpret_cast<void*>(&get_size);
  if (asked == "PMPI_Info_get") return reinterpret_cast<void*>(&get_info);
  return nullptr;
}

namespace {

std::vector<std::string> g_said;
void say(const char* sentence) { g_said.emplace_back(sentence); }

// Returns whether the policy of a page prefers a node.
bool is_bound(const char* page) {
  constexpr int k_of_address = 2;  // MPOL_F_ADDR
  constexpr int k_preferred = 1;   // MPOL_PREFERRED
  int mode = -1;
  EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, nullptr, 0, page, k_of_address), 0);
  return mode == k_preferred;
}

std::vector<bool> bound_pages(const char* low, std::size_t pages) {
  std::vector<bool> bound;
  for (std::size_t i = 0; i < pages; ++i) bound.push_back(is_bound(low + i * k_page));
  return bound;
}

// A file in shared memory, mapped and named.
struct SharedFile {
  SharedFile(const std::string& name, std::size_t pages) : size(pages * k_page) {
    path = "/dev/shm/" + name + std::to_string(getpid());
    file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(size)), 0);
    low = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }
  ~SharedFile() {
    munmap(low, size);
    close(file);
    unlink(path.c_str());
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  std::size_t size;
  std::string path;
  int file = -1;
  char* low = nullptr;
};

struct MpiObjectPlacerTest : testing::Test {
  MpiObjectPlacerTest() {
    g_said.clear();
    g_place_in_info.clear();
    setenv("MPI_LOCALRANKID", "1", 1);
    fs::create_directory(folder);
    spec.tables.push_back(strategy::parse_mpi_objects(k_table, "table"));
    spec.places.push_back({"fast", "hbm", 0, 0});
  }
  ~MpiObjectPlacerTest() override {
    unsetenv("MPI_LOCALRANKID");
    fs::remove_all(folder);
  }

  void place(std::initializer_list<strategy::MpiObjectKind> kinds) {
    for (const auto kind : kinds) spec.placed[static_cast<std::size_t>(kind)] = 0;
    placer.emplace(spec, ledger, folder.string(), &say);
  }
  void begin(Function function, std::initializer_list<std::uint64_t> arguments = {}) {
    std::copy(arguments.begin(), arguments.end(), registers);
    call.function = function;
    call.registers = registers;
    placer->on_call_begin(call);
  }
  void end() { placer->on_call_end(call); }
  void init_with(const SharedFile& file) {
    begin(k_init);
    placer->on_mapped(file.low, file.size, file.file);
    end();
  }
  Bytes held() { return ledger.held(0); }

  fs::path folder = fs::temp_directory_path() / ("terrace-placer-" + std::to_string(getpid()));
  runtime::MpiObjectsSpec spec;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger{*page, {Bytes{std::uint64_t{1} << 30}}};
  std::optional<MpiObjectPlacer> placer;
  MpiCall call{};
  std::uint64_t registers[k_num_mpi_registers]{};
};

using enum strategy::MpiObjectKind;

TEST_F(MpiObjectPlacerTest, ObjectWithParts_OwnPartIsBound) {
  place({cells});
  const SharedFile file("terrace_test_cells", 17);  // of two ranks: 1 + 2 x 8
  init_with(file);
  std::vector<bool> expected(17, false);
  std::fill(expected.begin() + 9, expected.end(), true);
  EXPECT_EQ(bound_pages(file.low, 17), expected);
  EXPECT_EQ(held(), Bytes{8 * k_page});
  const auto uses = placer->finish();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].library, "Made-up MPI 1.5");
  EXPECT_EQ(uses[0].kind, "cells");
  EXPECT_EQ(uses[0].place, "fast");
  EXPECT_EQ(uses[0].bytes, 8 * k_page);
  EXPECT_EQ(uses[0].elsewhere, 0u);
  EXPECT_TRUE(g_said.empty());
}

TEST_F(MpiObjectPlacerTest, ObjectForEachRank_FirstFileIsOwn) {
  place({eager});
  const SharedFile own("terrace_test_segment.own", 4), of_peer("terrace_test_segment.peer", 4);
  begin(k_init);
  placer->on_mapped(own.low, own.size, own.file);
  placer->on_mapped(of_peer.low, of_peer.size, of_peer.file);
  placer->on_mapped(own.low, own.size, own.file);  // a second time
  end();
  EXPECT_EQ(bound_pages(own.low, 4), std::vector<bool>(4, true));
  EXPECT_EQ(bound_pages(of_peer.low, 4), std::vector<bool>(4, false));
  EXPECT_EQ(held(), Bytes{4 * k_page});
}

TEST_F(MpiObjectPlacerTest, SysvSegment_CreatorIsOwner) {
  place({eager});
  const int segment = shmget(IPC_PRIVATE, 4 * k_page, IPC_CREAT | 0600);
  ASSERT_GE(segment, 0);
  const auto* const low = static_cast<char*>(shmat(segment, nullptr, 0));
  shmctl(segment, IPC_RMID, nullptr);
  begin(k_init);
  placer->on_attached(low, segment);
  end();
  EXPECT_EQ(bound_pages(low, 4), std::vector<bool>(4, true));
  placer->on_detached(low);
  EXPECT_EQ(held(), Bytes{0});
  shmdt(low);
}

TEST_F(MpiObjectPlacerTest, PagesOfFileWrittenBefore_AreFoundAndBound) {
  place({eager});
  const SharedFile file("terrace_test_segment", 4);
  ASSERT_EQ(pwrite(file.file, "x", 1, 2 * k_page), 1);  // the file has the page; the mapping does not
  init_with(file);
  EXPECT_EQ(bound_pages(file.low, 4), std::vector<bool>(4, true));
  EXPECT_EQ(placer->finish()[0].elsewhere, 0u);
}

TEST_F(MpiObjectPlacerTest, KindsWithoutPlace_StayAndAreCounted) {
  place({windows});
  const SharedFile file("terrace_test_cells", 17), flags("terrace_test_flags", 1);
  init_with(file);
  begin(k_barrier);
  placer->on_mapped(flags.low, flags.size, flags.file);
  end();
  EXPECT_EQ(bound_pages(file.low, 17), std::vector<bool>(17, false));
  EXPECT_FALSE(is_bound(flags.low));
  EXPECT_EQ(held(), Bytes{0});
  const auto uses = placer->finish();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].place, "");
  EXPECT_EQ(uses[1].kind, "control");
}

TEST_F(MpiObjectPlacerTest, MappingOutsideOfCalls_IsTheProgramsOwn) {
  place({cells});
  const SharedFile file("terrace_test_cells", 17);
  begin(k_init);
  end();
  placer->on_mapped(file.low, file.size, file.file);
  EXPECT_EQ(bound_pages(file.low, 17), std::vector<bool>(17, false));
}

TEST_F(MpiObjectPlacerTest, Window_OwnPartIsBoundByAddress) {
  place({windows});
  const std::uint64_t size = 3 * k_page;
  const SharedFile file("terrace_test_window", 6);
  std::uint64_t base = reinterpret_cast<std::uint64_t>(file.low) + size, window = 42;
  begin(k_init);
  end();
  begin(k_win_allocate, {size, 1, k_info, k_world, reinterpret_cast<std::uint64_t>(&base),
                         reinterpret_cast<std::uint64_t>(&window)});
  placer->on_mapped(file.low, file.size, file.file);
  end();
  EXPECT_EQ(bound_pages(file.low, 6), (std::vector<bool>{false, false, false, true, true, true}));
  placer->on_unmapped(file.low, file.size);
  EXPECT_EQ(held(), Bytes{0});
}

TEST_F(MpiObjectPlacerTest, PageSharedByTwoParts_IsBoundByBoth) {
  place({windows});
  const std::uint64_t size = 3 * k_page / 2;
  const SharedFile file("terrace_test_window", 3);
  std::uint64_t base = reinterpret_cast<std::uint64_t>(file.low) + size, window = 42;
  begin(k_win_allocate, {size, 1, k_info, k_world, reinterpret_cast<std::uint64_t>(&base),
                         reinterpret_cast<std::uint64_t>(&window)});
  placer->on_mapped(file.low, file.size, file.file);
  end();
  EXPECT_EQ(bound_pages(file.low, 3), (std::vector<bool>{false, true, true}));
}

TEST_F(MpiObjectPlacerTest, InfoKey_PlacesMemoryUntilItIsFreed) {
  place({});
  g_place_in_info = "hbm";  // by the kind of the place
  const std::size_t size = 4 * k_page;
  auto* const block =
      static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::uint64_t base = reinterpret_cast<std::uint64_t>(block) + 16;
  begin(k_init);
  end();
  begin(k_alloc_mem, {size - 32, k_info, reinterpret_cast<std::uint64_t>(&base)});
  end();
  EXPECT_EQ(bound_pages(block, 4), (std::vector<bool>{false, true, true, false}));  // whole pages of it
  EXPECT_EQ(held(), Bytes{2 * k_page});
  begin(k_free_mem, {base});
  EXPECT_EQ(bound_pages(block, 4), std::vector<bool>(4, false));
  EXPECT_EQ(held(), Bytes{0});
  end();
  munmap(block, size);
}

TEST_F(MpiObjectPlacerTest, UnknownPlaceInInfo_IsToldOnce) {
  place({});
  g_place_in_info = "attic";
  std::uint64_t base = 0;
  for (int i = 0; i < 2; ++i) {
    begin(k_alloc_mem, {k_page, k_info, reinterpret_cast<std::uint64_t>(&base)});
    end();
  }
  ASSERT_EQ(g_said.size(), 1u);
  EXPECT_NE(g_said[0].find("'attic'"), std::string::npos);
}

TEST_F(MpiObjectPlacerTest, BudgetWithoutSpace_StaysAndIsTold) {
  ASSERT_TRUE(ledger.take(0, Bytes{(std::uint64_t{1} << 30) - 2 * k_page}));
  place({eager});
  const SharedFile file("terrace_test_segment", 4);
  init_with(file);
  EXPECT_EQ(bound_pages(file.low, 4), std::vector<bool>(4, false));
  ASSERT_EQ(g_said.size(), 1u);
  EXPECT_NE(g_said[0].find("fast has no budget left for"), std::string::npos);
}

TEST_F(MpiObjectPlacerTest, NodeThatDoesNotExist_StaysAndIsToldOnce) {
  spec.places[0].node = 1000;
  place({eager});
  const SharedFile file("terrace_test_segment", 4);
  init_with(file);
  EXPECT_EQ(bound_pages(file.low, 4), std::vector<bool>(4, false));
  EXPECT_EQ(placer->finish()[0].elsewhere, 4 * k_page);
  ASSERT_EQ(g_said.size(), 1u);
  EXPECT_NE(g_said[0].find("stay where they are"), std::string::npos);
}

TEST_F(MpiObjectPlacerTest, KindThatTheLibraryLacks_IsTold) {
  place({pools});
  begin(k_init);
  end();
  ASSERT_EQ(g_said.size(), 1u);
  EXPECT_EQ(g_said[0],
            "terrace: --mpi-objects: Made-up MPI 1.5 has no pools; it has eager, cells, windows, alloc_mem\n");
}

TEST_F(MpiObjectPlacerTest, AllocationsInCalls_HaveTheLibrarysName) {
  place({});
  begin(k_init);
  EXPECT_STREQ(t_mpi_library, "Made-up MPI 1.5");
  end();
  EXPECT_EQ(t_mpi_library, nullptr);
  std::uint64_t base = 0;
  begin(k_alloc_mem, {k_page, k_info, reinterpret_cast<std::uint64_t>(&base)});
  EXPECT_EQ(t_mpi_library, nullptr);  // the program's
  end();
}

}  // namespace
}  // namespace terrace::agent
