// `strobe inspect FILE --explain`: the guess with its reasons, and a command that applies it. Also the note of a run on
// times far from all others.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Explain : public Program {
 protected:
  Json explain(const std::string& file) {
    const Outcome outcome = strobe({"inspect", file, "--explain", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  /// The workload of a command "strobe inspect 'FILE:...'".
  static std::string workload_of(const Json& command) {
    const std::string text = command.get<std::string>();
    return text.substr(text.find('\'') + 1, text.size() - text.find('\'') - 2);
  }
};

TEST_F(Explain, PrintsRolesWithReasonsAndTheCommand) {
  write_text(folder_ / "clicks.tsv",
             "ACTIONID\tUSERID\tTARGETID\tTIMESTAMP\n0\t0\t0\t0.0\n1\t0\t1\t6.0\n2\t1\t2\t41.0\n");
  const Outcome outcome = strobe({"inspect", "clicks.tsv", "--explain"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words :
       {"read as   table", "4 columns between tabs, a header in line 1; 3 rows looked at",
        "USERID     source    by its name", "ACTIONID   not read",
        "strobe inspect 'clicks.tsv:columns=source:USERID/target:TARGETID/time:TIMESTAMP,ids=offset'"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  const Json seen = explain("clicks.tsv");
  EXPECT_EQ(seen.at("certain"), true);
  EXPECT_EQ(seen.at("columns").at(3).at("role"), "time");
  const Json guessed = Json::parse(strobe({"inspect", "clicks.tsv", "--json"}).out),
             typed = Json::parse(strobe({"inspect", workload_of(seen.at("commands").at(0)), "--json"}).out);
  for (const char* key :
       {"format", "vertices", "events", "ids", "edges_per_step", "in_degree", "first_time", "last_time"})
    EXPECT_EQ(guessed.at(key), typed.at(key)) << key;
}

TEST_F(Explain, SaysWhyAFileIsRefusedAndWhatReadsIt) {
  write_text(folder_ / "quads.txt", "12\t3\t40\t2014-01-01\n12\t5\t41\t2014-01-02\n");
  const Json seen = explain("quads.txt");
  EXPECT_EQ(seen.at("certain"), false);
  EXPECT_NE(seen.at("refused").get<std::string>().find("a relation or a weight"), std::string::npos);
  ASSERT_EQ(seen.at("commands").size(), 2u);
  for (const Json& command : seen.at("commands")) {
    const Outcome outcome = strobe({"inspect", workload_of(command), "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out).at("events"), 2);
  }
  write_text(folder_ / "w.edges", "1 2 5 10\n2 3 4 11\n3 1 5 12\n");
  const Outcome known = strobe({"inspect", "w.edges", "--explain"});
  EXPECT_NE(known.out.find("read as   network-repository"), std::string::npos) << known.out;
  EXPECT_NE(known.out.find("strobe inspect 'w.edges:format=table,columns="), std::string::npos) << known.out;
  expect_refusal(strobe({"inspect", "chess", "--explain"}), 2, {"--explain", "no file 'chess'"});
  expect_refusal(strobe({"inspect", "uniform", "--explain"}), 2, {"--explain", "no file 'uniform'"});
}

TEST_F(Explain, TimesFarFromAllOthersAreTheCauseOfARefusal) {
  std::string rows = "source,target,time\n1,2,0\n2,3,0\n3,1,0\n";
  for (int i = 0; i < 1200; ++i)
    rows += std::to_string(i * 7 % 40) + "," + std::to_string(i * 11 % 39) + "," +
            std::to_string(1200000000 + 3600 * i) + "\n";
  write_text(folder_ / "zeros.csv", rows);
  expect_refusal(strobe({"run", "--workload", "zeros.csv", "--epochs", "1", "--out", "out"}), 2,
                 {"3 events lie 38 years before the others, so 18 of 20 steps are empty", "outliers=drop"});
  for (const std::string model : {"tm-gcn", "jodie"}) {
    const Outcome outcome = strobe(
        {"run", "--workload", "zeros.csv:outliers=drop", "--model", model, "--epochs", "1", "--out", "out-" + model});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(read_text(folder_ / ("out-" + model) / "summary.json").find("they were left out (outliers=drop)"),
              std::string::npos);
  }
  ASSERT_EQ(strobe({"convert", "zeros.csv", "zeros.strobe"}).status, 0);
  for (const std::string file : {"zeros.csv", "zeros.strobe"}) {
    const Json seen = Json::parse(strobe({"inspect", file, "--outliers", "drop", "--json"}).out);
    EXPECT_EQ(seen.at("events"), 1200) << file;
    EXPECT_EQ(seen.at("empty_steps"), 0) << file;
  }
}

TEST_F(Explain, WindowsWithAnOriginAreTakenWhereverWindowsAre) {
  write_text(folder_ / "days.csv",
             "source,target,time\n1,2,2020-01-01 20:00:00\n2,3,2020-01-01 23:00:00\n"
             "3,1,2020-01-02 01:00:00\n1,3,2020-01-02 22:00:00\n");
  const auto steps = [&](const std::string& workload) {
    const Outcome outcome = strobe({"inspect", workload, "--json", "--presence", "seen"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out).at("edges_per_step");
  };
  EXPECT_EQ(steps("days.csv:window=1d"), (Json{3, 1}));
  EXPECT_EQ(steps("days.csv:window=1d:origin=midnight"), (Json{2, 2}));
  ASSERT_EQ(strobe({"convert", "days.csv", "days.strobe"}).status, 0);
  EXPECT_EQ(steps("days.strobe:window=1day"), (Json{2, 2}));
  ASSERT_EQ(strobe({"convert", "days.csv:window=1d:origin=midnight", "steps.strobe"}).status, 0);
  EXPECT_EQ(steps("steps.strobe"), (Json{2, 2}));
  expect_refusal(strobe({"inspect", "steps.strobe:window=1d:origin=midnight"}), 2, {"window", "holds steps already"});
  EXPECT_EQ(steps("bursty_events:events=500,window=1d:origin=epoch").size(), 12u);
  const Outcome plan = strobe({"run", "--workload", "days.csv:window=1d:origin=midnight", "--task",
                               "link-prediction:theta=1", "--dry-run", "--json"});
  EXPECT_NE(plan.out.find("1d:origin=midnight"), std::string::npos) << plan.out << plan.err;
}

}  // namespace
}  // namespace strobe::cli_test
