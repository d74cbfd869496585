// Damaged files of a run, and full disks: every command that reads or writes them answers in one line with the file and
// the reason, and leaves no temporary files.
#include <random>
#include <sstream>

#include "tests/cli/support/report.hpp"
#include "tests/long.hpp"

namespace strobe::cli_test {
namespace {

/// JSON values that most keys of a run never have.
const std::vector<std::string> odd_values = {"1000000000000000000000000000000",
                                             "\"x\"",
                                             "null",
                                             "[]",
                                             "{}",
                                             "true",
                                             "-1",
                                             "0",
                                             "1e308",
                                             "-1e308",
                                             "1e-320",
                                             "\"1111111111111111111111111111111111111111\"",
                                             "[1, 2]",
                                             "{\"a\": 1}",
                                             "\"$x_{\"",
                                             "18446744073709551615",
                                             "-9223372036854775808",
                                             "NaN",
                                             "Infinity",
                                             "\"\\u0000\\u001b\"",
                                             "[null]",
                                             "[[1], [2]]",
                                             "\"\"",
                                             "1e15",
                                             "\"\xff\xfe\"",
                                             std::string(90, '[') + std::string(90, ']')};

class DamagedFiles : public Report {
 protected:
  void SetUp() override {
    Report::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(strobe({"run", "--workload", tiny, "--vary", "strategy=snapshot,vertex", "--vary", "ranks=1,2",
                      "--device", "sim", "--epochs", "3", "--trace", "--out", "a"})
                  .status,
              0);
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "a/trace"))
      trace_ = std::max(trace_, "trace/" + entry.path().filename().string());
    for (const char* file : {"summary.json", "env.json", "plan.json", "samples.jsonl"}) forget_digests(file);
    std::filesystem::copy(folder_ / "a", folder_ / "b", std::filesystem::copy_options::recursive);
  }

  std::size_t any(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  /// Removes the digests, which would refuse a change before any command reads the value.
  void forget_digests(const std::string& file) {
    std::string text;
    std::istringstream lines(read_text(folder_ / "a" / file));
    const bool whole = file != "samples.jsonl";
    for (std::string line; std::getline(lines, line, whole ? '\0' : '\n');) {
      Json json = Json::parse(line);
      json.erase("sha256");
      if (json.contains("rows"))
        for (Json& row : json["rows"]) row.erase("sha256");
      text += json.dump() + "\n";
    }
    write_text(folder_ / "a" / file, text);
  }

  /// Changes, removes or doubles one to three values or keys of the JSON.
  std::string with_odd_values(const std::string& text) {
    Json json = Json::parse(text);
    std::vector<std::pair<std::string, std::string>> placed;
    for (std::size_t n = 1 + any(3); n > 0; --n) {
      const Json flat = json.flatten();
      auto leaf = flat.begin();
      std::advance(leaf, static_cast<std::ptrdiff_t>(any(flat.size())));
      Json::json_pointer place(leaf.key());
      for (std::size_t up = any(3); up > 0 && place.parent_pointer() != Json::json_pointer(); --up)
        place = place.parent_pointer();
      if (place.empty()) continue;
      const std::string mark = "@@" + std::to_string(n) + "@@", odd = odd_values[any(odd_values.size())];
      Json& owner = json[place.parent_pointer()];
      if (owner.is_object() && any(6) == 0) {
        owner.erase(place.back());
      } else if (owner.is_object() && any(6) == 0) {
        owner[mark] = owner[place.back()];
        placed.emplace_back('"' + mark + '"', Json(place.back()).dump());
      } else {
        json[place] = mark;
        placed.emplace_back('"' + mark + '"', odd);
      }
    }
    std::string damaged = json.dump();
    for (const auto& [mark, odd] : placed)
      if (const std::size_t at = damaged.find(mark); at != std::string::npos) damaged.replace(at, mark.size(), odd);
    return damaged;
  }

  std::string damaged(std::string text) {
    switch (any(10)) {
      case 0:
        return text.substr(0, any(text.size()));
      case 1:
        for (std::size_t n = 1 + any(8); n > 0; --n) text[any(text.size())] = static_cast<char>(any(256));
        return text;
      default:
        return with_odd_values(text);
    }
  }

  /// Damages a file of run `a`: one line of samples, any part of other files. Sometimes a folder replaces the file.
  void damage(const std::string& file) {
    const std::filesystem::path path = folder_ / "a" / file;
    std::string text = read_text(folder_ / "b" / file);
    std::filesystem::remove_all(path);
    if (any(20) == 0) {
      std::filesystem::create_directory(path);
      return;
    }
    std::size_t begin = 0, end = text.size();
    if (file == "samples.jsonl") {
      begin = text.rfind('\n', any(text.size() - 1)) + 1;
      end = text.find('\n', begin);
    }
    write_text(path, text.replace(begin, end - begin, damaged(text.substr(begin, end - begin))));
  }

  void put_back(const std::string& file) {
    std::filesystem::remove_all(folder_ / "a" / file);
    std::filesystem::copy(folder_ / "b" / file, folder_ / "a" / file);
  }

  void expect_nothing_left(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }

  /// The number of lines, without notes that a file has no digest.
  static int lines_but_notes(const std::string& text) {
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.rfind("note: ", 0) != 0;
    return count;
  }

  /// Fails unless the command succeeded or printed one line that names the run.
  void expect_answer(const Outcome& outcome, const std::vector<int>& statuses) {
    EXPECT_NE(std::find(statuses.begin(), statuses.end(), outcome.status), statuses.end()) << outcome.status;
    for (const char* words :
         {"Traceback", "exception", "std::", "stod", "File \"", "_error.", ": None", "write None", "Warning"})
      EXPECT_EQ(outcome.err.find(words), std::string::npos) << words;
    if (outcome.status == 2) EXPECT_EQ(lines_but_notes(outcome.err), 1);
    expect_nothing_left(folder_);
  }

  /// Damages the files `count` times, and lets one of the commands answer each time.
  void try_damages(int count, const std::vector<std::string>& files,
                   const std::vector<std::vector<std::string>>& commands, const std::vector<int>& statuses = {0, 2}) {
    for (int trial = 0; trial < count; ++trial) {
      const std::string file = files[any(files.size())];
      damage(file);
      const std::vector<std::string>& words = commands[any(commands.size())];
      const Outcome outcome = strobe(words);
      SCOPED_TRACE("trial " + std::to_string(trial) + ", " + words[0] + " " + words[1] + ", " + file + ": " +
                   outcome.err);
      expect_answer(outcome, statuses);
      if (HasFailure())
        write_text(std::filesystem::temp_directory_path() / "strobe-damaged-file", read_text(folder_ / "a" / file));
      put_back(file);
    }
  }

  void try_tables(int count) {
    try_damages(
        count, {"summary.json"},
        {{"show", "a"}, {"show", "a", "--by", "strategy"}, {"show", "a", "--sort", "epoch", "--format", "latex"}});
  }
  void try_comparisons(int count) {
    try_damages(
        count, {"summary.json", "samples.jsonl", "env.json", "plan.json"},
        {{"compare", "a", "b"}, {"compare", "b", "a", "--fail-on-regression"}, {"compare", "a", "--by", "strategy"}},
        {0, 2, 3, 4, 7});
  }
  void try_traces(int count) {
    try_damages(count, {trace_},
                {{"trace", "diff", "a/" + trace_, "b/" + trace_},
                 {"trace", "merge", "b/" + trace_, "a/" + trace_, "--out", "merged.json"}});
  }
  void try_reports(int count) {
    try_damages(count, {"summary.json", "summary.json", "samples.jsonl", "env.json", trace_},
                {{"report", "a", "--out", "page.html"}});
  }
  void try_figures(int count) {
    std::vector<std::vector<std::string>> commands;
    for (const char* kind : {"curves", "memory", "phase_split", "scaling", "throughput", "volume"})
      commands.push_back({"plot", kind, "a", "--out", "figures", "--format", "svg"});
    try_damages(count, {"summary.json"}, commands);
  }

  std::string trace_;
  std::mt19937 random_{7};
};

bool has_matplotlib() {
  return std::system(
             "python3 -c 'import matplotlib' 2> /dev/null || /usr/bin/python3 -c 'import matplotlib' 2> /dev/null") ==
         0;
}

TEST_F(DamagedFiles, AreRefusedByNameOrMeanNothing) {
  try_tables(15);
  try_comparisons(15);
  try_traces(12);
  try_reports(4);
}

using LongDamagedFiles = DamagedFiles;

TEST_F(LongDamagedFiles, OfManySeedsAreRefusedByNameOrMeanNothing) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    random_.seed(seed);
    try_tables(60);
    try_comparisons(60);
    try_traces(60);
    try_reports(30);
    if (has_matplotlib()) try_figures(8);
  }
}

TEST_F(DamagedFiles, NumbersThatNoTraceHasAreNamed) {
  for (const auto& [key, value] : {std::pair{"ts", "1e300"}, {"dur", "1e300"}, {"pid", "9223372036854775807"}}) {
    Json trace = read_json(folder_ / "b" / trace_);
    for (Json& event : trace["traceEvents"])
      if (event.contains(key)) event[key] = Json::parse(value);
    write_text(folder_ / "a" / trace_, trace.dump());
    expect_refusal(strobe({"trace", "diff", "b/" + trace_, "a/" + trace_}), 2, {"a/" + trace_, key});
  }
}

TEST_F(DamagedFiles, ALongNumberAsAParameterIsShown) {
  Json summary = read_json(folder_ / "a/summary.json");
  int n = 0;
  for (Json& row : summary["rows"]) row["workload"]["name"] = std::string(400, '9') + std::to_string(n++);
  write_text(folder_ / "a/summary.json", summary.dump());
  const Outcome outcome = strobe({"show", "a", "--columns", "workload,epoch"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("9999"), std::string::npos);
}

/// Under this limit commands can read all files, but write none longer than four blocks.
TEST_F(DamagedFiles, ALimitOnFilesIsReportedWithStatusOne) {
  std::vector<std::string> commands = {"report a --out out/r.html",
                                       "trace merge a/" + trace_ + " b/" + trace_ + " --out out/m.json"};
  if (has_matplotlib()) commands.push_back("plot phase_split a --out out");
  std::filesystem::create_directory(folder_ / "out");
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const Outcome outcome =
        finish(start_shell("cd '" + folder_.string() + "' && ulimit -f 4 && '" STROBE_BINARY "' " + command));
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("out/"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("Traceback"), std::string::npos) << outcome.err;
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
  }
}

/// The disk is mounted for this command only.
TEST_F(DamagedFiles, AFullDiskIsReportedWithStatusOne) {
  std::filesystem::create_directory(folder_ / "disk");
  const std::string mount = "mount -t tmpfs -o size=64k strobe-test disk";
  const auto on_disk = [&](const std::string& words) {
    return finish(start_shell("cd '" + folder_.string() + "' && unshare -m sh -c \"" + mount + " && " + words + "\""));
  };
  if (on_disk("true").status != 0) GTEST_SKIP() << "no file system may be mounted here";
  std::vector<std::string> commands = {"report a --out disk/r.html",
                                       "trace merge a/" + trace_ + " b/" + trace_ + " --out disk/m.json"};
  if (has_matplotlib()) commands.push_back("plot phase_split a --out disk");
  for (const char* filled : {"64", "60"}) {
    for (const std::string& command : commands) {
      SCOPED_TRACE(command + ", kB filled: " + filled);
      const Outcome outcome =
          on_disk("head -c " + std::string(filled) + "k /dev/zero > disk/filler; '" STROBE_BINARY "' " + command +
                  "; status=\\$?; ls disk; exit \\$status");
      EXPECT_EQ(outcome.status, 1) << outcome.err;
      EXPECT_NE(outcome.err.find("disk"), std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("None"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.out, "filler\n") << "something was left";
    }
  }
}

TEST_F(DamagedFiles, AReportGoesToStandardOutputAndThroughALink) {
  const Outcome printed = strobe({"report", "a", "--out", "/dev/stdout"});
  EXPECT_EQ(printed.status, 0) << printed.err;
  EXPECT_NE(printed.out.find("</html>"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink("/dev/stdout"));
  std::filesystem::create_symlink("page.html", folder_ / "link.html");
  ASSERT_EQ(strobe({"report", "a", "--out", "link.html"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.html"));
  EXPECT_NE(read_text(folder_ / "page.html").find("</html>"), std::string::npos);
}

TEST_F(DamagedFiles, ScriptsFlushBeforeTheyRenameAndCleanUp) {
  const Outcome outcome = python(R"(
sys.path.insert(0, sys.path[0] + '/figures')
import errno, fcntl, os, stat
from strobe_figures import files
os.mkdir('w')
calls, fsync, replace = [], os.fsync, os.replace
def seen_fsync(file):
    calls.append('folder' if stat.S_ISDIR(os.fstat(file).st_mode) else 'file')
    fsync(file)
def seen_replace(a, b):
    calls.append('rename')
    replace(a, b)
os.fsync, os.replace = seen_fsync, seen_replace
open('w/x.tmp.1.0', 'w').close()
alive = os.open('w/x.tmp.1.1', os.O_CREAT | os.O_WRONLY)
fcntl.flock(alive, fcntl.LOCK_EX)
open('w/x.tmp.mine', 'w').close()
files.write_whole('w/x', b'first')
assert calls == ['file', 'rename', 'folder'], calls
assert sorted(os.listdir('w')) == ['x', 'x.tmp.1.1', 'x.tmp.mine'], os.listdir('w')
def full(file):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
os.fsync = full
try:
    files.write_whole('w/x', b'second')
    raise SystemExit('a full disk was not told')
except files.CannotWrite as error:
    assert str(error) == 'cannot write w/x: No space left on device', error
assert open('w/x').read() == 'first'
assert sorted(os.listdir('w')) == ['x', 'x.tmp.1.1', 'x.tmp.mine'], os.listdir('w')
assert files.ending(lambda: {}['gone']) == 2
assert files.ending(lambda: open('w/nowhere')) == 1
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
