// Runs that can be entries of the board, and programs that judge archives and pages.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {

/// When a run ends, and its seeds.
struct EntryTarget {
  std::string until = "auc=0.01", epochs = "3", seeds = "1,2,3,4,5";
};

class Entries : public Program {
 protected:
  /// A run that reaches the target unless another one is given. `more` comes after the other words.
  void run_open(const std::string& out, const std::vector<std::string>& more = {}, const EntryTarget& target = {}) {
    std::vector<std::string> words = {
        "run",        "--workload", tiny,          "--task", "link-prediction:split=70/15/15", "--until",
        target.until, "--epochs",   target.epochs, "--vary", "seed=" + target.seeds,           "--out",
        out};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = strobe(words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    state_source(out, {{"git_sha", "0123456789abcdef0123456789abcdef01234567"}, {"dirty", false}});
  }

  /// Replaces what env.json says of the source: tests run in a tree that is being changed.
  void state_source(const std::string& out, const Json& source) {
    change_env(out, [&](Json& environment) { environment["source"] = source; });
  }

  template <class Change>
  void change_env(const std::string& out, const Change& change) {
    Json environment = read_json(folder_ / out / "env.json");
    environment.erase(digest_key);
    change(environment);
    write_text(folder_ / out / "env.json", with_digest(environment).dump(2) + "\n");
  }

  std::vector<std::string> submission(const std::string& run, const std::string& division = "open") {
    return {"submit", run, "--division", division, "--who", "A. Author", "--licence", "CC-BY-4.0", "--into", "entries"};
  }

  /// Submits and returns the archive's path.
  std::string submit(const std::string& run, const std::vector<std::string>& more = {},
                     const std::string& division = "open") {
    std::filesystem::create_directory(folder_ / "entries");
    std::vector<std::string> words = submission(run, division);
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = strobe(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::size_t begin = outcome.err.find("wrote entries/"), end = outcome.err.find(" (", begin);
    EXPECT_NE(begin, std::string::npos) << outcome.err;
    return begin == std::string::npos ? "" : outcome.err.substr(begin + 6, end - begin - 6);
  }

  /// Unpacks an archive with the system's tar.
  void unpack(const std::string& archive, const std::string& into) {
    std::filesystem::create_directory(folder_ / into);
    const Outcome outcome = finish(start({"tar", "-xzf", archive, "-C", into}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << "tar has no complaint";
  }
};

}  // namespace strobe::cli_test
