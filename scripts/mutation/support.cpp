// Chooses the mutant of this process, and notes for every test which mutants it reached.
#include "support.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace strobe_mutation {

unsigned char reached[STROBE_MUTANTS + 1] = {};

namespace {

int number_of(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

/// One line for each test: its name, file, milliseconds, whether it passed or was skipped, and the mutants it reached.
class Coverage : public testing::EmptyTestEventListener {
 public:
  explicit Coverage(const char* path) : file_(std::fopen(path, "w")) {}

 private:
  void OnTestStart(const testing::TestInfo&) override { std::memset(reached, 0, sizeof(reached)); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const char* outcome = test.result()->Failed() ? "failed" : test.result()->Skipped() ? "skipped" : "passed";
    std::fprintf(file_, "%s.%s\t%s\t%lld\t%s\t", test.test_suite_name(), test.name(), test.file(),
                 static_cast<long long>(test.result()->elapsed_time()), outcome);
    for (int id = 1; id <= STROBE_MUTANTS; ++id) {
      if (reached[id] != 0) std::fprintf(file_, "%d ", id);
    }
    std::fprintf(file_, "\n");
    std::fflush(file_);
  }

  std::FILE* file_;
};

bool listen() {
  const char* path = std::getenv("STROBE_MUTANT_COVERAGE");
  if (path != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Coverage(path));
  return path != nullptr;
}

[[maybe_unused]] const bool listening = listen();

}  // namespace

int chosen = number_of("STROBE_MUTANT");

}  // namespace strobe_mutation
