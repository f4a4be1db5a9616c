// synthetic_job FOLDER: writes FOLDER/app.7.terrace, the synthetic job of two processes, one of them killed; for
// the Python tests.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "profile/store/store.hpp"
#include "support/synthetic_job.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: synthetic_job FOLDER\n", stderr);
    return 2;
  }
  try {
    const std::string folder = arguments[1];
    const std::vector<std::string> journals = {folder + "/1.journal", folder + "/2.journal"};
    terrace::test::write_synthetic_journal(journals[0], {.process = 4001});
    terrace::test::write_synthetic_journal(journals[1], {.process = 4002, .ends = false, .plans = false});
    std::puts(terrace::profile::merge_journals(journals, folder + "/app.7.terrace").path.c_str());
    for (const auto& journal : journals) unlink(journal.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "synthetic_job: %s\n", error.what());
    return 1;
  }
}
