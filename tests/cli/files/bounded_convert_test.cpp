// `strobe convert` within less memory than the file's rows take.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class BoundedConvert : public Program {
 protected:
  /// Three million rows that are not in time order.
  BoundedConvert() {
    std::string text;
    for (std::uint64_t i = 0; i < 3'000'000; ++i)
      text += fmt::format("{} {} {}\n", i * 7919 % 5003, i * 104'729 % 6007, i * 1'299'709 % 3'000'017);
    write_text(folder_ / "rows.txt", text);
  }

  /// Converts with a limit in GiB for rows; the process may not take more than `mebibytes` of data (0 = no limit).
  Outcome convert(const std::string& limit, const std::string& out, int mebibytes) {
    const std::string before = mebibytes == 0 ? "" : fmt::format("ulimit -d {} && ", mebibytes * 1024);
    return finish(start_shell(fmt::format("cd '{}' && {}'{}' convert rows.txt:cache=off {} --host-memory-limit-gib {}",
                                          folder_.string(), before, STROBE_BINARY, out, limit)));
  }

  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_F(BoundedConvert, AFileIsConvertedWhereItsRowsDoNotFit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more memory than the limits";
#endif
  ASSERT_EQ(convert("8", "whole.strobe", 0).status, 0);
  const std::size_t before = files();
  int enough = 32;  // threads take some, too
  Outcome outcome = convert("0.01", "bounded.strobe", enough);
  while (outcome.status != 0 && enough < 4096) {
    enough += std::max(8, enough / 16);
    outcome = convert("0.01", "bounded.strobe", enough);
  }
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("sorted in parts"), std::string::npos) << outcome.err;
  EXPECT_TRUE(read_text(folder_ / "bounded.strobe") == read_text(folder_ / "whole.strobe"));
  EXPECT_EQ(files(), before + 2) << "more than the file and its seal";
  const Outcome whole = convert("8", "failed.strobe", enough);
  EXPECT_NE(whole.status, 0) << "the limit of " << enough << " MiB says nothing";
  EXPECT_NE(whole.err.find("memory"), std::string::npos) << whole.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "failed.strobe"));
}

TEST_F(BoundedConvert, ImpossibleLimitsAreRefused) {
  for (const char* limit : {"0", "-1", "0.0001", "some"})
    expect_refusal(convert(limit, "out.strobe", 0), 2, {"--host-memory-limit-gib"});
}

}  // namespace
}  // namespace strobe::cli_test
