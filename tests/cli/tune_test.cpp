// --tune on the command line: trials are a run in trials/, drawn as an independent program draws them, and the best by
// the validation metric is run under each seed; stopped and continued, with several families, ranks, rounds and until.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

using Texts = std::vector<std::string>;

Texts words_of_tuning(Texts more) {
  Texts all = {"run",     "--workload", tiny,       "--task", "link-prediction:split=60/20/20",
               "--model", "t-gcn",      "--warmup", "0"};
  all.insert(all.end(), {"--optimizer", "adam"});
  if (std::find(more.begin(), more.end(), "--epochs") == more.end()) more.insert(more.begin(), {"--epochs", "4"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <class Base>
class Tuned : public Base {
 protected:
  Json rows_in(const std::string& out) { return read_json(this->folder_ / out / "summary.json").at("rows"); }

  /// Returns when the run has this many rows, or after a minute.
  void wait_for_rows(const std::string& out, std::size_t count) {
    const std::filesystem::path summary = this->folder_ / out / "summary.json";
    for (int i = 0; i < 30000; ++i) {
      std::error_code missing;
      if (std::filesystem::exists(summary, missing)) {
        const Json json = Json::parse(read_text(summary), nullptr, false);
        if (!json.is_discarded() && json.at("rows").size() >= count) return;
      }
      usleep(2000);
    }
  }

  /// Everything but times.
  void expect_same_values(const Json& a, const Json& b) {
    for (const char* key : {"case_id", "status", "loss", "metrics", "tuning", "model", "optimizer", "seed", "settings"})
      EXPECT_EQ(a.at(key), b.at(key)) << key;
  }
};

using Tunes = Tuned<Program>;
using TunesTogether = Tuned<MpiProgram>;

/// The best row of trials by a search over all of them; the first of equal ones.
Json best_of(const Json& trials, const std::string& metric) {
  Json best;
  for (const Json& row : trials) {
    if (row.at("status") != "ok") continue;
    if (best.is_null() || row.at("metrics").at(metric).back() > best.at("metrics").at(metric).back()) best = row;
  }
  return best;
}

/// Philox4x32-10 and the draws, written again from the papers and the page; prints the settings of each trial.
constexpr const char* draws_again = R"(
import hashlib, json, math, sys
MASK = 0xffffffff
def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c
def uniform(path, seed, number):
    key = int(hashlib.sha256(path.encode()).hexdigest()[:8], 16)
    w = philox([number & MASK, number >> 32, 53, key], [seed & MASK, seed >> 32])
    return ((w[1] << 32 | w[0]) >> 11) * 2.0 ** -53
first, seed, trials = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
all, number = [first], 0
while len(all) < trials:
    width = [16, 32, 64, 128][int(4 * uniform('model.hidden', seed, number))]
    low, high = math.log(1e-4), math.log(1e-1)
    rate = float('%.2e' % math.exp(low + uniform('optimizer.rate', seed, number) * (high - low)))
    drawn = {'model.hidden': width, 'optimizer.rate': rate}
    if drawn not in all: all.append(drawn)
    number += 1
print(json.dumps(all))
)";

TEST_F(Tunes, TriesTheDrawsOfAnIndependentProgramAndRunsTheBestUnderEachSeed) {
  const Outcome outcome = strobe(words_of_tuning({"--vary", "seed=4..6", "--tune", "6:metric=auc", "--out", "t"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json trials = rows_in("t/trials"), rows = rows_in("t");
  ASSERT_EQ(trials.size(), 6u);
  ASSERT_EQ(rows.size(), 3u);
  Json tried = Json::array();
  for (std::size_t k = 0; k < 6; ++k) {
    const Json& row = trials[k];
    EXPECT_EQ(row.at("seed"), 4);
    EXPECT_EQ(row.at("tuning").at("trial"), k + 1);
    EXPECT_EQ(row.at("loss").size(), 4u);
    tried.push_back(
        {{"model.hidden", row.at("model").at("hidden")}, {"optimizer.rate", row.at("optimizer").at("rate")}});
    EXPECT_EQ(row.at("tuning").at("settings"), tried.back());
  }
  write_text(folder_ / "draws.py", draws_again);
  const Outcome again = finish(start({"python3", "draws.py", tried[0].dump(), "4", "6"}));
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out), tried);
  const Json best = best_of(trials, "validation_auc");
  std::set<int> seeds;
  for (const Json& row : rows) {
    EXPECT_EQ(row.at("model"), best.at("model"));
    EXPECT_EQ(row.at("optimizer"), best.at("optimizer"));
    const Json& tuning = row.at("tuning");
    EXPECT_EQ(tuning.at("trial"), best.at("tuning").at("trial"));
    EXPECT_EQ(tuning.at("trials"), 6);
    EXPECT_EQ(tuning.at("epochs"), 4);
    EXPECT_EQ(tuning.at("metric"), "validation_auc");
    EXPECT_EQ(tuning.at("value"), best.at("metrics").at("validation_auc").back());
    seeds.insert(row.at("seed").get<int>());
  }
  EXPECT_EQ(seeds, (std::set<int>{4, 5, 6}));
  EXPECT_EQ(rows[0].at("loss"), best.at("loss")) << "the first seed is that of the trials";
  EXPECT_EQ(strobe({"verify", "t"}).status, 0);
  EXPECT_EQ(strobe({"verify", "t/trials"}).status, 0);
}

TEST_F(Tunes, AStoppedRunGoesOnWithItsTrialsAndItsChoice) {
  const Texts more = {"--vary", "strategy=sequential,vertex:partitioner=hash", "--tune", "5"};
  Texts whole = words_of_tuning(more), part = words_of_tuning(more);
  whole.insert(whole.end(), {"--out", "whole"}), part.insert(part.end(), {"--out", "part"});
  ASSERT_EQ(strobe(whole).status, 0);
  ASSERT_EQ(strobe(part).status, 0);
  // A kill between the trials and the cases: the plan of the cases is not there yet.
  for (const auto& item : std::filesystem::directory_iterator(folder_ / "part"))
    if (item.path().filename() != "trials") std::filesystem::remove_all(item.path());
  const std::string before = read_text(folder_ / "part" / "trials" / "samples.jsonl");
  const Outcome resumed = strobe({"run", "--resume", "part"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(read_text(folder_ / "part" / "trials" / "samples.jsonl"), before) << "no trial was trained again";
  const Json a = rows_in("whole"), b = rows_in("part");
  ASSERT_EQ(a.size(), 2u);
  ASSERT_EQ(b.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    for (const char* key : {"case_id", "loss", "metrics", "tuning"}) EXPECT_EQ(a[i].at(key), b[i].at(key)) << key;
  // Once more: everything is kept. And with all its words.
  EXPECT_EQ(strobe({"run", "--resume", "part"}).status, 0);
  part.emplace_back("--resume");
  const Outcome again = strobe(part);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(rows_in("part"), b);
  part.pop_back();
  expect_refusal(strobe(part), 2, {"--out", "already holds a run"});
  expect_refusal(strobe({"run", "--resume", "part", "--tune", "9"}), 2, {"--tune"});
}

TEST_F(Tunes, AnEndedRunLosesAndRepeatsNoTrial) {
  const Texts whole = words_of_tuning({"--tune", "8", "--out", "whole", "--epochs", "60"});
  ASSERT_EQ(strobe(whole).status, 0);
  const Json undisturbed = rows_in("whole"), all_trials = rows_in("whole/trials");
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::string out = "ended" + std::to_string(signal);
    Texts command = words_of_tuning({"--tune", "8", "--out", out, "--epochs", "60"});
    command.insert(command.begin(), STROBE_BINARY);
    const pid_t pid = start(command);
    wait_for_rows(out + "/trials", 2);
    kill(pid, signal);
    finish(pid);
    EXPECT_FALSE(std::filesystem::exists(folder_ / out / "plan.json")) << "the signal came amid trials";
    Json left = rows_in(out + "/trials");
    ASSERT_GE(left.size(), 2u);
    if (left.back().at("status") != "ok") left.erase(left.size() - 1);
    const Outcome resumed = strobe({"run", "--resume", out});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const Json trials = rows_in(out + "/trials");
    ASSERT_EQ(trials.size(), 8u);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (i < left.size()) {
        EXPECT_EQ(trials[i], left[i]) << "kept as it was";
      }
      expect_same_values(trials[i], all_trials[i]);
    }
    ASSERT_EQ(rows_in(out).size(), 1u);
    expect_same_values(rows_in(out)[0], undisturbed[0]);
    EXPECT_EQ(undisturbed[0].at("optimizer"), best_of(trials, "validation_auc").at("optimizer"));
  }
}

/// A step of 0.3 is too long for a squared error of 128 columns, and short enough for one of few columns.
TEST_F(Tunes, DivergedTrialsCountAndAreNeverChosen) {
  const auto tune = [&](const std::string& rate, const std::string& out) {
    return strobe({"run", "--workload", tiny, "--task", "vertex-regression:target=degree,split=60/20/20", "--model",
                   "t-gcn", "--optimizer", "sgd:momentum=0,rate=" + rate, "--epochs", "30", "--warmup", "0", "--tune",
                   "5", "--out", out});
  };
  const Outcome some = tune("0.3", "some");
  ASSERT_EQ(some.status, 0) << some.err;
  std::set<std::string> ends;
  for (const Json& row : rows_in("some/trials")) {
    ends.insert(row.at("status").get<std::string>());
    if (row.at("status") == "failed") {
      EXPECT_NE(row.at("reason").get<std::string>().find("diverged"), std::string::npos);
    }
  }
  EXPECT_EQ(ends, (std::set<std::string>{"failed", "ok"}));
  const Json row = rows_in("some").at(0);
  EXPECT_EQ(row.at("status"), "ok");
  EXPECT_EQ(row.at("tuning").at("trials"), 5);
  const Outcome none = tune("100", "none");
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("no trial ended with a value of the metric; see the rows in none/trials"), std::string::npos)
      << none.err;
  for (const Json& one : rows_in("none/trials")) EXPECT_EQ(one.at("status"), "failed");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none" / "plan.json"));
}

TEST_F(Tunes, FamiliesOfModelsCompareOverTheirSeeds) {
  Texts words = words_of_tuning({"--vary", "seed=1..3", "--tune", "4", "--out", "t"});
  words.erase(std::find(words.begin(), words.end(), "--model"), std::find(words.begin(), words.end(), "--warmup"));
  words.insert(words.end(), {"--vary", "model=t-gcn,cd-gcn"});
  ASSERT_EQ(strobe(words).status, 0);
  EXPECT_EQ(rows_in("t")[0].at("tuning").at("metric"), "validation_mrr") << "accuracy says little about pairs";
  const Outcome outcome = strobe({"compare", "t", "--by", "model", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json question = Json::parse(outcome.out).at("questions").at(0);
  EXPECT_EQ(question.at("metric"), "mrr");
  ASSERT_EQ(question.at("contenders").size(), 2u);
  for (const Json& one : question.at("contenders")) {
    EXPECT_EQ(one.at("case_ids").size(), 3u);
    double sum = 0;
    for (const Json& row : rows_in("t"))
      if (row.at("model").at("name") == one.at("value")) sum += row.at("metrics").at("mrr").back().get<double>();
    EXPECT_NEAR(one.at("metric").at("value").get<double>(), sum / 3, 1e-12);
    EXPECT_NE(one.at("note").get<std::string>().find("tuned: model.hidden="), std::string::npos);
  }
}

TEST_F(Tunes, RoundsKeepTheChoice) {
  const Texts common = {"--strategy", "vertex", "--ranks", "2", "--tune", "4", "--precision", "fp64"};
  Texts local = words_of_tuning(common), rounds = words_of_tuning(common);
  local.insert(local.end(), {"--out", "local"});
  rounds.insert(rounds.end(), {"--out", "rounds", "--rounds", "2"});
  ASSERT_EQ(strobe(local).status, 0);
  const Outcome by_rounds = strobe(rounds);
  ASSERT_EQ(by_rounds.status, 0) << by_rounds.err;
  EXPECT_EQ(rows_in("rounds")[0].at("tuning"), rows_in("local")[0].at("tuning"));
  EXPECT_EQ(rows_in("rounds")[0].at("loss"), rows_in("local")[0].at("loss"));
  expect_refusal(strobe([&] {
                   Texts launched = rounds;
                   launched.back() = "2";
                   launched.insert(launched.end(), {"--launch", "mpirun -n {ranks}"});
                   return launched;
                 }()),
                 2, {"--launch", "--tune"});
}

TEST_F(TunesTogether, ProcessesChooseAsThreadsDo) {
  const Texts common = {"--strategy", "vertex", "--ranks", "2", "--tune", "4", "--precision", "fp64"};
  Texts local = words_of_tuning(common), mpi = words_of_tuning(common);
  local.insert(local.end(), {"--out", "local"});
  mpi.insert(mpi.end(), {"--out", "mpi", "--comm", "mpi"});
  ASSERT_EQ(strobe(local).status, 0);
  const Outcome processes = mpirun("2", mpi);
  ASSERT_EQ(processes.status, 0) << processes.err;
  EXPECT_EQ(rows_in("mpi")[0].at("tuning").at("settings"), rows_in("local")[0].at("tuning").at("settings"));
  EXPECT_EQ(rows_in("mpi/trials").size(), 4u);
}

TEST_F(Tunes, UntilEndsTheCasesAndNotTheTrialsInVirtualTimeToo) {
  const Outcome outcome =
      strobe(words_of_tuning({"--until", "auc=0.01", "--tune", "3", "--device", "sim", "--cluster", "p5-h100",
                              "--numerics", "cpu", "--strategy", "vertex", "--ranks", "2", "--out", "v"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const Json& row : rows_in("v/trials")) {
    EXPECT_EQ(row.at("loss").size(), 4u);
    EXPECT_TRUE(row.at("until_reached").is_null());
    EXPECT_EQ(row.at("tuning").at("metric"), "validation_auc");
  }
  const Json row = rows_in("v")[0];
  EXPECT_EQ(row.at("until_iterations"), 1);
  EXPECT_EQ(row.at("tuning").at("trials"), 3);
  EXPECT_EQ(row.at("time_source"), "virtual");
}

TEST_F(Tunes, ADryRunShowsTheTrialsAndRunsNothing) {
  const Outcome outcome = strobe(words_of_tuning({"--tune", "3", "--dry-run", "--json"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("cases").size(), 3u);
  expect_refusal(strobe(words_of_tuning({"--tune", "no", "--out", "x"})), 2, {"--tune", "'no'"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

}  // namespace
}  // namespace strobe::cli_test
