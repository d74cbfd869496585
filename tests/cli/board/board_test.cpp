// `scripts/board`: its tables are computed again here by other means, and its page is whole, harmless text.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "tests/cli/support/entries.hpp"
#include "tests/cli/support/report.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Board : public Entries {
 protected:
  void SetUp() override {
    python_ = testing_results::find_python("jinja2");
    if (python_.empty()) GTEST_SKIP() << "no Python with Jinja2 (apt: python3-jinja2)";
  }

  Outcome board(const std::string& folder = "entries") {
    return finish(
        start({python_, STROBE_SOURCE_DIR "/scripts/board", folder, "--out", "board.html", "--strobe", STROBE_BINARY}));
  }

  void expect_whole_page() {
    write_text(folder_ / "check.py", check_page);
    const Outcome checked = finish(start({python_, path("check.py"), "board.html"}));
    EXPECT_EQ(checked.status, 0) << checked.err;
    const std::string page = read_text(folder_ / "board.html");
    for (const char* never : {"<script", " src=", "@import", "url("})
      EXPECT_EQ(page.find(never), std::string::npos) << never;
  }

  /// Packs files with Python, which writes archives of its own form.
  void repack(const std::string& folder, const std::string& archive, const std::string& more = "") {
    write_text(folder_ / "repack.py",
               "import io, os, sys, tarfile\n"
               "with tarfile.open(sys.argv[2], 'w:gz', format=tarfile.USTAR_FORMAT) as out:\n"
               "    for name in sorted(os.listdir(sys.argv[1])):\n"
               "        out.add(os.path.join(sys.argv[1], name), name)\n" +
                   more);
    const Outcome outcome = finish(start({python_, path("repack.py"), folder, archive}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }

  void expect_refused(const std::vector<std::string>& words) {
    fs::remove(folder_ / "board.html");
    expect_refusal(board(), 2, words);
    EXPECT_FALSE(fs::exists(folder_ / "board.html"));
  }

  std::string python_;
};

/// The mean and the 99 % interval of paired log ratios of five seeds, by Student's t with 4 degrees of freedom.
struct Paired {
  double ratio = 0, low = 0, high = 0;
};

Paired paired(const std::map<int, double>& first, const std::map<int, double>& other) {
  std::vector<double> logs;
  for (const auto& [seed, seconds] : first) logs.push_back(std::log(other.at(seed) / seconds));
  double mean = 0, squares = 0;
  for (const double value : logs) mean += value / 5;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double half = 4.604094871 * std::sqrt(squares / 4 / 5);
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

using TimesOfLines = std::map<std::string, std::map<int, double>>;  // by model and strategy, then by seed

std::string name_of_line(const Json& row) {
  return row.at("model").at("name").get<std::string>() + row.at("strategy").at("name").get<std::string>();
}

/// A place is one more than the number of lines that are sooner by more than 5 % with an interval that excludes 1.
int place_in(const TimesOfLines& times, const std::map<int, double>& own) {
  return 1 + static_cast<int>(std::count_if(times.begin(), times.end(), [&](const auto& theirs) {
           const Paired ratio = paired(theirs.second, own);
           return ratio.low > 1 && ratio.ratio > 1.05;
         }));
}

void expect_line(const Json& line, const TimesOfLines& times, const std::string& name, const std::string& first) {
  const std::map<int, double>& own = times.at(name);
  double mean = 0;
  for (const auto& [seed, seconds] : own) mean += std::log(seconds) / 5;
  EXPECT_NEAR(line.at("seconds").get<double>(), std::exp(mean), 1e-12 * std::exp(mean));
  EXPECT_EQ(line.at("place"), place_in(times, own)) << line;
  const Json& ratio = line.at("times_the_first");
  if (ratio.at("ci99_low").is_null()) return;
  const Paired expected = paired(times.at(first), own);
  EXPECT_NEAR(ratio.at("ratio").get<double>(), expected.ratio, 1e-9 * expected.ratio);
  EXPECT_NEAR(ratio.at("ci99_low").get<double>(), expected.low, 1e-6 * expected.low);
  EXPECT_NEAR(ratio.at("ci99_high").get<double>(), expected.high, 1e-6 * expected.high);
}

/// Virtual times repeat, so the places are the same on every machine.
TEST_F(Board, PlacesAreThoseOfPairedIntervals) {
  std::vector<std::string> words = {"submit", "--check"};
  TimesOfLines times;
  std::map<std::string, std::string> names;  // by case
  for (const auto& [run, more] : std::map<std::string, std::vector<std::string>>{
           {"exact", {"--vary", "strategy=snapshot,vertex,pss", "--ranks", "2"}},
           {"single", {"--strategy", "sequential"}},
           {"other", {"--model", "cd-gcn"}}}) {
    std::vector<std::string> all = {"--device", "sim", "--numerics", "cpu", "--cluster", "p3dn-v100"};
    all.insert(all.end(), more.begin(), more.end());
    run_open(run, all, {"auc=0.5", "60"});
    unpack(submit(run, {"--predicted"}), run + "-entry");
    words.push_back(run + "-entry");
    const Json summary = read_json(folder_ / run / "summary.json");
    for (const Json& row : summary.at("rows")) {
      names[row.at("case_id")] = name_of_line(row);
      times[name_of_line(row)][row.at("seed").get<int>()] = row.at("until_seconds").get<double>();
    }
  }
  const Outcome outcome = strobe(words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json tables = Json::parse(outcome.out);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].at("machine"), "p3dn-v100");
  const Json& lines = tables[0].at("lines");
  ASSERT_EQ(lines.size(), 5u);
  const std::string first = names.at(lines[0].at("case_ids").at(0));
  for (const Json& line : lines) expect_line(line, times, names.at(line.at("case_ids").at(0)), first);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end(),
                             [](const Json& a, const Json& b) { return a.at("place") < b.at("place"); }));
  EXPECT_GT(lines.back().at("place").get<int>(), 1) << "somebody must be surely later";
}

TEST_F(Board, APageHasEveryEntryAndPredictionsApart) {
  run_open("real", {"--vary", "strategy=snapshot,vertex", "--ranks", "2"});
  run_open("sim", {"--device", "sim", "--numerics", "cpu", "--vary", "strategy=snapshot,vertex", "--ranks", "2"});
  const std::string real = submit("real"), sim = submit("sim", {"--predicted"});
  const Outcome outcome = board();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 entries, 4 configurations, 2 tables"), std::string::npos) << outcome.err;
  expect_whole_page();
  const std::string page = read_text(folder_ / "board.html");
  for (const std::string& words :
       {real, sim, std::string("A. Author"), std::string("CC-BY-4.0"), std::string("0123456789ab"),
        std::string("Open division"), std::string("<span class=\"mark\">predicted</span></h4>")})
    EXPECT_NE(page.find(words), std::string::npos) << words;
  EXPECT_LT(page.find("snapshot</td>"), page.find("<span class=\"mark\">predicted</span></h4>"));
}

TEST_F(Board, TamperedEntriesAreRefused) {
  run_open("a");
  const std::string archive = submit("a"), bytes = read_text(folder_ / archive);
  for (const std::size_t at : {bytes.size() / 3, bytes.size() / 2, bytes.size() - 6}) {
    std::string changed = bytes;
    changed.at(at) = static_cast<char>(changed.at(at) ^ 16);
    write_text(folder_ / archive, changed);
    expect_refused({});
  }
  write_text(folder_ / archive, bytes);
  unpack(archive, "unpacked");
  Json entry = read_json(folder_ / "unpacked/entry.json");
  entry["who"] = "B. Author";
  write_text(folder_ / "unpacked/entry.json", entry.dump(2) + "\n");
  repack("unpacked", archive);
  expect_refused({"entry.json"});
  entry.erase(digest_key);
  entry["revision"] = "another";
  write_text(folder_ / "unpacked/entry.json", with_digest(entry).dump(2) + "\n");
  repack("unpacked", archive);
  expect_refused({"entry.json", "revision"});
  unpack(submit("a"), "again");
  fs::remove(folder_ / archive);
  Json summary = read_json(folder_ / "again/summary.json");
  summary["rows"][0]["until_seconds"] = 1e-9;
  write_text(folder_ / "again/summary.json", summary.dump(1) + "\n");
  repack("again", archive);
  expect_refused({"summary.json"});
  write_text(folder_ / archive, bytes);
  unpack(archive, "less");
  fs::remove(folder_ / "less/values.jsonl");
  repack("less", archive);
  expect_refused({"values.jsonl"});
}

TEST_F(Board, ArchivesWithOtherFilesAreRefused) {
  run_open("a");
  const std::string archive = submit("a");
  unpack(archive, "unpacked");
  const std::string begin = "    one = tarfile.TarInfo(", end = "    out.addfile(one, io.BytesIO(b''))\n";
  for (const auto& [more, words] : std::vector<std::pair<std::string, std::string>>{
           {begin + "'../../evil.json')\n" + end, "evil.json"},
           {begin + "'/tmp/evil.json')\n" + end, "evil.json"},
           {begin + "'rounds.jsonl')\n    one.type = tarfile.SYMTYPE\n    one.linkname = '/etc/passwd'\n" + end,
            "rounds.jsonl"},
           {begin + "'env.json')\n" + end, "env.json twice"},
           {begin + "'rounds.jsonl')\n    one.size = 1 << 32\n    out.fileobj.write(one.tobuf(tarfile.USTAR_FORMAT))\n",
            "MiB"},
           {begin + "'rounds.jsonl')\n    one.size = 600\n    out.fileobj.write(one.tobuf(tarfile.USTAR_FORMAT))\n"
                    "    out.fileobj.write(b'x' * (100 << 20))\n",
            "MiB"},
           {begin + "'rounds.jsonl')\n    one.size = -512\n    out.fileobj.write(one.tobuf(tarfile.GNU_FORMAT))\n",
            "has no size"},
           {begin + "'x' * 120)\n    out.fileobj.write(one.tobuf(tarfile.PAX_FORMAT))\n", "which no entry has"},
           {begin + "'rounds.jsonl')\n    one.type = tarfile.LNKTYPE\n    one.linkname = 'env.json'\n" + end,
            "type b'1'"},
           {"    out.close()\n    open(sys.argv[2], 'ab').write(os.urandom(3 << 20))\n", "more than 2 MiB"}}) {
    repack("unpacked", archive, more);
    expect_refused({archive.substr(archive.find('/') + 1), words});
  }
  const std::string whole = submit("a");
  fs::copy(folder_ / whole, folder_ / "entries/copy.tar.gz");
  expect_refused({"is the same run as"});
  fs::rename(folder_ / "entries/copy.tar.gz", folder_ / "entries/...tar.gz");
  expect_refused({"it has no name"});
  fs::remove(folder_ / "entries/...tar.gz");
  write_text(folder_ / archive, "no archive");
  expect_refused({archive, "no .tar.gz"});
  fs::remove(folder_ / archive);
  expect_refused({"holds no entry"});
}

TEST_F(Board, HostileNamesAreText) {
  run_open("a");
  const std::string who = "<script>alert(1)</script>\"&<img src=x onerror=alert(1)>";
  fs::create_directory(folder_ / "entries");
  const Outcome sent =
      strobe({"submit", "a", "--division", "open", "--who", who, "--licence", "</td><b>", "--into", "entries"});
  ASSERT_EQ(sent.status, 0) << sent.err;
  const Outcome outcome = board();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string page = read_text(folder_ / "board.html");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)"), std::string::npos);
}

/// Virtual times repeat, and so do the draws.
TEST_F(Board, APredictionHasTheBandOfItsDraws) {
  run_open("sim", {"--device", "sim", "--numerics", "cpu", "--cluster", "p3dn-v100", "--draws", "40"});
  submit("sim", {"--predicted"});
  ASSERT_EQ(board().status, 0);
  const Json rows = read_json(folder_ / "sim/summary.json").at("rows");
  std::vector<double> means(40, 0);  // geometric, over the seeds
  for (const Json& row : rows)
    for (std::size_t d = 0; d < 40; ++d)
      means[d] += std::log(row.at("time_draws").at("until_seconds").at(d).get<double>()) / 5;
  std::sort(means.begin(), means.end());
  const auto at = [&](double share) {
    const double place = share * 39;
    const auto low = static_cast<std::size_t>(place);
    return std::exp(std::lerp(means[low], means[low + 1], place - static_cast<double>(low)));
  };
  const std::string page = read_text(folder_ / "board.html"), column = "data-name=\"90 % band\">";
  ASSERT_NE(page.find(column), std::string::npos);
  std::istringstream words(page.substr(page.find(column) + column.size(), 60));
  const std::map<std::string, double> units = {{"ms", 1e-3}, {"\u00b5s", 1e-6}, {"ms,", 1e-3}, {"\u00b5s,", 1e-6}};
  double low = 0, high = 0;
  std::string low_unit, high_unit, to, count;
  words >> low >> low_unit >> to >> high >> high_unit >> count;
  EXPECT_NEAR(low * units.at(low_unit), at(0.05), 0.01 * at(0.05)) << words.str();
  EXPECT_NEAR(high * units.at(high_unit), at(0.95), 0.01 * at(0.95)) << words.str();
  EXPECT_LT(at(0.05), at(0.95));
  EXPECT_EQ(count, "40");
}

/// The entries that come with Strobe are accepted, and stay small.
TEST_F(Board, TheBundledEntriesMakeThePage) {
  const Outcome outcome = board(STROBE_SOURCE_DIR "/results/board");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  expect_whole_page();
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(STROBE_SOURCE_DIR "/results/board")) bytes += file.file_size();
  EXPECT_LT(bytes, 1u << 20);
}

}  // namespace
}  // namespace strobe::cli_test
