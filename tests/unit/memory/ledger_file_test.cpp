// Tests the ledger's file: which users may open it, how launchers share it, and when it is removed.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "ledger_fixture.hpp"
#include "memory/ledger/folder.hpp"
#include "memory/ledger/job_file.hpp"
#include "memory/ledger/mapped_page.hpp"
#include "memory/ledger/view.hpp"

namespace terrace::memory {
namespace {

namespace fs = std::filesystem;
using Access = MappedPage::Access;

// Other jobs of this user may run concurrently.
const std::string k_number = std::to_string(::getpid());
const std::string k_job = "job/" + k_number;

class LedgerFile : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (fs::temp_directory_path() / "ledger-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    ::setenv("XDG_RUNTIME_DIR", name.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] std::string folder() const { return root_.string(); }
  [[nodiscard]] std::vector<std::string> own_paths() const {
    auto paths = ledger_paths();
    std::erase_if(paths, [this](const std::string& path) { return !path.starts_with(folder()); });
    return paths;
  }
  static std::vector<LedgerView> own_views() {
    auto views = list_user_ledgers();
    std::erase_if(views, [](const LedgerView& view) { return view.job != k_job; });
    return views;
  }
  static JobDescription description(std::uint64_t budget = 1 << 20) {
    return {k_job, {{"fast0", {budget}, {4096}}, {"slow0", {1 << 24}, {4096}}}};
  }

  fs::path root_;
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

Code refusal(const std::string& path) {
  try {
    const MappedPage page(path, Access::write);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "it was opened";
  return Code::invalid;
}

TEST_F(LedgerFile, Folder_IsPrivateToThisUser) {
  const auto made = make_ledger_folder();
  EXPECT_EQ(made, folder() + "/terrace");
  EXPECT_EQ(mode_of(made), 0700u);
  const JobFile file(made, description());
  EXPECT_EQ(mode_of(file.path()), 0600u);
  EXPECT_EQ(fs::path(file.path()).filename(), "job_" + k_number + ".ledger");
  ASSERT_EQ(own_paths().size(), 1u);
  EXPECT_EQ(own_paths().front(), file.path());
}

TEST_F(LedgerFile, SharedFolder_IsSkipped) {
  ASSERT_EQ(::mkdir((folder() + "/terrace").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder() + "/terrace").c_str(), 0755), 0);
  EXPECT_NE(make_ledger_folder(), folder() + "/terrace");
  fs::remove(folder() + "/terrace");
  fs::create_directory_symlink(folder(), folder() + "/terrace");
  EXPECT_NE(make_ledger_folder(), folder() + "/terrace");
}

TEST_F(LedgerFile, OtherUser_CannotOpen) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);  // so that the mode of the file itself is tested
  const JobFile file(folder(), description());
  EXPECT_EQ(in_child([&] {
              if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
              for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR})
                if (::open(file.path().c_str(), flags | O_CLOEXEC) >= 0 || errno != EACCES) return 3;
              try {
                const MappedPage page(file.path(), Access::read);
              } catch (const Error&) {
                return 0;
              }
              return 4;
            }),
            0);
  // Root does not accept another user's file either.
  ASSERT_EQ(::chown(file.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(file.path()), Code::failed);
}

TEST_F(LedgerFile, InvalidFile_IsRefused) {
  const JobFile file(folder(), description());
  EXPECT_EQ(refusal(folder() + "/none"), Code::not_found);
  fs::create_symlink(file.path(), folder() + "/link");
  EXPECT_EQ(refusal(folder() + "/link"), Code::failed);
  ASSERT_EQ(::mkfifo((folder() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder() + "/pipe"), Code::failed);
  ASSERT_EQ(::chmod(file.path().c_str(), 0640), 0);
  EXPECT_EQ(refusal(file.path()), Code::failed);
  ASSERT_EQ(::chmod(file.path().c_str(), 0600), 0);
  fs::copy_file(file.path(), folder() + "/short");
  fs::resize_file(folder() + "/short", sizeof(LedgerPage) - 1);
  EXPECT_EQ(refusal(folder() + "/short"), Code::corrupt);
  fs::copy_file(file.path(), folder() + "/other");
  std::fstream(folder() + "/other", std::ios::in | std::ios::out | std::ios::binary).write("x", 1);
  EXPECT_EQ(refusal(folder() + "/other"), Code::corrupt);
}

TEST_F(LedgerFile, LaunchersOfAJob_ShareAndLastRemoves) {
  auto first = std::make_unique<JobFile>(folder(), description());
  auto second = std::make_unique<JobFile>(folder(), description());
  const auto path = first->path();
  EXPECT_EQ(second->path(), path);
  first.reset();
  EXPECT_TRUE(fs::exists(path));
  second.reset();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(LedgerFile, OtherBudgets_GetAnotherFile) {
  const JobFile first(folder(), description());
  const JobFile second(folder(), description(1 << 21));
  EXPECT_NE(second.path(), first.path());
}

TEST_F(LedgerFile, StaleFile_IsReplaced) {
  // A killed launcher leaves a stale file.
  ASSERT_EQ(in_child([&] {
              const JobFile file(folder(), description());
              const MappedPage mapped(file.path(), Access::write);
              Ledger ledger(mapped.page(), {{1 << 20}});
              ::_exit(ledger.take(0, {4096}) ? 0 : 1);
              return 1;
            }),
            0);
  const auto path = folder() + "/job_" + k_number + ".ledger";
  ASSERT_TRUE(fs::exists(path));
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  const JobFile file(folder(), description(1 << 21));
  EXPECT_EQ(file.path(), path) << "another budget does not matter: the file is stale";
  EXPECT_TRUE(read_ledger_view(file.page())->processes.empty());
}

TEST_F(LedgerFile, LiveProcess_KeepsFile) {
  auto file = std::make_unique<JobFile>(folder(), description());
  const auto path = file->path();
  const MappedPage mapped(path, Access::write);
  {
    Ledger ledger(mapped.page(), {{1 << 20}});
    ASSERT_TRUE(ledger.take(0, {4096}));
    file.reset();
    EXPECT_TRUE(fs::exists(path)) << "its program outlives the launcher";
    file = std::make_unique<JobFile>(folder(), description());
    EXPECT_EQ(read_ledger_view(file->page())->processes.size(), 1u);
  }
  file.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(LedgerFile, RemoveStaleLedgers_KeepsUsedOnes) {
  const auto place = make_ledger_folder();
  ASSERT_EQ(in_child([&] {
              const JobFile file(place, description());
              ::_exit(0);
              return 1;
            }),
            0);
  auto living = description();
  living.job = "living";
  const JobFile file(place, living);
  ASSERT_EQ(own_paths().size(), 2u);
  remove_stale_ledgers();
  EXPECT_EQ(own_paths(), std::vector{file.path()});
}

TEST_F(LedgerFile, View_ReportsHoldingsByProcess) {
  const JobFile file(make_ledger_folder(), description());
  EXPECT_TRUE(own_views().empty()) << "no process is alive in it";
  const MappedPage mapped(file.path(), Access::write);
  Ledger ledger(mapped.page(), {{1 << 20}, {1 << 24}});
  ASSERT_TRUE(ledger.take(0, {8192}));
  ledger.set_demand(0, {.quota = 65536});
  const auto views = own_views();
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].job, k_job);
  ASSERT_EQ(views[0].places.size(), 2u);
  EXPECT_EQ(views[0].places[0].name, "fast0");
  EXPECT_EQ(views[0].places[0].budget, 1u << 20);
  ASSERT_EQ(views[0].processes.size(), 1u);
  const auto& me = views[0].processes[0];
  EXPECT_EQ(me.process, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(me.holdings[0].held, 8192u);
  EXPECT_EQ(me.holdings[0].outstanding, 0u);
  EXPECT_EQ(me.holdings[0].share, 65536u);
  EXPECT_EQ(me.holdings[1].held, 0u);
  EXPECT_FALSE(me.holdings[1].share);
}

}  // namespace
}  // namespace terrace::memory
