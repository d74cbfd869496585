// `strobe inspect`: its output, the shape that it writes and reads, and the figure that it draws.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Inspect : public Program {
 protected:
  Json facts(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    arguments.push_back("--json");
    const Outcome outcome = strobe(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out.empty() ? "{}" : outcome.out);
  }
  /// Runs the program in the folder, with words as a user types them into a shell.
  Outcome typed(const std::string& words) {
    return finish(start_shell("cd '" + folder_.string() + "' && '" STROBE_BINARY "' " + words));
  }
};

TEST_F(Inspect, TextHoldsTheTablesAndWhatReadingDid) {
  const Outcome outcome = strobe({"inspect", "ucsocial"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words :
       {"ids                        shared", "duplicates", "merged_events", "dropped_self_loops         0",
        "at most, for a share of", "edges of a step", "steps of a vertex", "events into a vertex",
        "targets of a vertex in a step", "edges per step     |", "overlap per step   |", "| highest "})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("bins"), std::string::npos) << "bins are for programs";
}

TEST_F(Inspect, CountsAgreeWithEachOther) {
  const Json seen = facts({"chess", "--window", "30d"});
  std::int64_t edges = 0, active = 0;
  for (const Json& count : seen.at("edges_per_step")) edges += count.get<std::int64_t>();
  for (const Json& count : seen.at("active_vertices_per_step")) active += count.get<std::int64_t>();
  EXPECT_EQ(seen.at("edges"), edges);
  EXPECT_EQ(seen.at("merged_events"), 65053 - edges);
  EXPECT_EQ(seen.at("sequence_length").at("count"), 7301);
  std::int64_t cells = 0;
  for (const Json& bin : seen.at("sequence_length").at("bins")) cells += bin.at(2).get<std::int64_t>();
  EXPECT_EQ(cells, active) << "a cell is active for its step and for its vertex";
  EXPECT_EQ(seen.at("overlap_per_step").size(), seen.at("steps"));
  EXPECT_EQ(seen.at("step_in_degree").at("count"), 7301 * seen.at("steps").get<std::int64_t>());
}

TEST_F(Inspect, GeneratedEventsAreCutLikeThoseOfAFile) {
  const Json seen = facts({"bursty_events:vertices=100,events=5000", "--window", "1d", "--set", "repeat=0.25"});
  EXPECT_EQ(seen.at("events"), 5000);
  EXPECT_EQ(seen.at("vertices"), 100);
  EXPECT_EQ(seen.at("last_time"), 1e6);
  EXPECT_EQ(seen.at("steps"), 12);
  EXPECT_NEAR(seen.at("recent_repeats").get<double>(), 0.25, 0.02);
  EXPECT_EQ(facts({"chess"}).at("recent_repeats").is_number(), true);
  ASSERT_EQ(strobe({"convert", "bursty_events:events=300,edge_features=4", "e.strobe", "--seed", "5"}).status, 0);
  const Json written = facts({"e.strobe"}), made = facts({"bursty_events:events=300,edge_features=4", "--seed", "5"});
  for (const char* key :
       {"events", "last_time", "recent_repeats", "edge_feature_width", "edges_per_step", "out_degree"})
    EXPECT_EQ(written.at(key), made.at(key)) << key;
  EXPECT_EQ(written.at("edge_feature_width"), 4);
  const Outcome csv = strobe({"convert", "bursty_events:classes=5,edge_features=4,labels=0.5", "e.csv"});
  EXPECT_NE(csv.err.find("event labels, 4 features of each event, classes of events"), std::string::npos) << csv.err;
  expect_refusal(strobe({"inspect", "bursty_events:burst=1"}), 2, {"/burst", "less than 1"});
  expect_refusal(strobe({"inspect", "bursty_events:events=0"}), 2, {"/events", "between 1"});
}

TEST_F(Inspect, OverlappingWindowsAreNamed) {
  const Json sliding = facts({"chess", "--window", "60d", "--stride", "30d"});
  EXPECT_EQ(sliding.at("repeats"), "sliding");
  EXPECT_TRUE(sliding.at("merged_events").is_null()) << "an event lies in two steps";
  EXPECT_EQ(facts({"chess", "--cumulative", "true", "--window", "365d"}).at("repeats"), "cumulative");
  EXPECT_EQ(facts({"chess", "--set", "edge_life=3"}).at("repeats"), "edge_life");
}

TEST_F(Inspect, AWrittenShapeIsPrintedAndWrittenAgainTheSame) {
  ASSERT_EQ(strobe({"inspect", "ucsocial", "--shape", "s.json"}).status, 0);
  const Json shape = read_json(path("s.json"));
  EXPECT_EQ(shape.at("vertices"), 1899);
  EXPECT_EQ(shape.at("events"), 59835);
  EXPECT_EQ(shape.at("smoothed").size(), 9u) << "windows 1, 2, 3, 4, 5, 8, 10, 15, 20 of 28 steps";
  EXPECT_EQ(facts({"s.json"}), without_digests(shape));
  ASSERT_EQ(strobe({"inspect", "s.json", "--shape", "again.json"}).status, 0);
  EXPECT_EQ(read_text(path("again.json")), read_text(path("s.json")));
}

TEST_F(Inspect, PublishedShapesArePrinted) {
  const Outcome outcome = strobe({"inspect", "epinions"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"755,000", "13,000,000", "ESDG (SC'21), Table 1", "653,000,000"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  // The order of keys is not compared, because each writer has its own.
  const std::string file = read_text(std::string(STROBE_SOURCE_DIR) + "/workloads/shapes/epinions.json");
  EXPECT_EQ(nlohmann::json::parse(facts({"epinions"}).dump()), nlohmann::json::parse(file));
}

/// A file with unknown names is answered with its columns and a command; the command works as it is printed.
TEST_F(Inspect, AnUnknownHeaderIsAnsweredWithACommandThatWorks) {
  const auto row = [](const char* format, int i) {
    return fmt::format(fmt::runtime(format), i % 7, i * 3 % 11, i % 9 + 1);
  };
  const std::vector<std::pair<std::string, const char*>> files = {
      {"alpha,beta,gamma", "{},{},2024-01-0{}"},
      {"no,a1,b1,wann,betrag,channel", "{2}00,{0},{1},2024-01-0{2},0.{1},web"},
      {"my name;her name;the day", "Ann {};Bob {};2024-01-0{}"},
      {"x,y,z", "{},{},{}"},
      {"from,whom,date", "{},{},2024-01-0{}"},
  };
  for (const auto& [header, format] : files) {
    std::string rows = header + "\n";
    for (int i = 0; i < 60; ++i) rows += row(format, i) + "\n";
    write_text(folder_ / "it's mine.csv", rows);
    const Outcome refused = typed("inspect \"it's mine.csv\"");
    const std::string separator = header.find(';') != std::string::npos ? ";" : ",";
    std::string columns = header;
    for (std::size_t at = 0; (at = columns.find(separator, at)) != std::string::npos; at += 2)
      columns.replace(at, 1, ", ");
    expect_refusal(refused, 2, {"its columns are " + columns, "strobe inspect '"});
    const std::size_t begin = refused.err.find("strobe inspect ") + 7;
    const std::size_t ends = std::min(refused.err.find(", or strobe", begin), refused.err.find(" for source", begin));
    const std::string command = refused.err.substr(begin, std::min(ends, refused.err.find('\n', begin)) - begin);
    const Outcome read = typed(command);
    EXPECT_EQ(read.status, 0) << command << read.err;
    EXPECT_NE(read.out.find("events                     60\n"), std::string::npos) << read.out;
  }
  write_text(folder_ / "two.csv", "follower,followee\n1,2\n2,3\n");
  expect_refusal(strobe({"inspect", "two.csv"}), 2, {"whose first line is 'follower,followee'"});
}

TEST_F(Inspect, NotesAreOneALine) {
  write_text(folder_ / "named.csv", "id,sender,recipient,sent_at\n1,Ann,Bob,2024-01-01\n2,Bob,Eve,2024-01-02\n");
  const Json notes = facts({"named.csv"}).at("notes");
  const std::string text = strobe({"inspect", "named.csv"}).out;
  ASSERT_GE(notes.size(), 2u);
  for (const Json& note : notes)
    EXPECT_NE(text.find(" " + note.get<std::string>() + "\n"), std::string::npos) << note << "\n" << text;
}

TEST_F(Inspect, RefusalsComeBeforeTheWork) {
  expect_refusal(strobe({"inspect", "epinions", "--window", "1d"}), 2, {"epinions is a shape"});
  expect_refusal(strobe({"inspect", "epinion"}), 2, {"did you mean 'epinions'?"});
  expect_refusal(strobe({"inspect", "chess", "--figure", "chess.pdf"}), 2, {"must end in .png or .svg"});
  expect_refusal(strobe({"inspect", "chess", "--shape", "none/s.json"}), 2, {"--shape", "none/s.json"});
  expect_refusal(strobe({"inspect", "chess", "--lags", "2", "--edge-life", "3"}), 2, {"exclude each other"});
  expect_refusal(strobe({"inspect", "sx-stackoverflow"}), 2, {"scripts/fetch_dataset sx-stackoverflow"});
  write_text(path("bad.json"), "{\"strobe_shape\": 1, \"name\": \"x\"}");
  expect_refusal(strobe({"inspect", "bad.json"}), 2, {"bad.json#/", "this key is missing"});
  expect_refusal(strobe({"run", "--workload", "epinions", "--model", "tm-gcn"}), 2, {"epinions is a shape"});
}

TEST_F(Inspect, FiguresAreDrawnTheSameEveryTime) {
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const Outcome first = strobe({"inspect", "ucsocial", "--figure", "a/u.png"});
  if (first.status == 5) GTEST_SKIP() << first.err;
  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_EQ(strobe({"inspect", "ucsocial", "--figure", "b/u.svg"}).status, 0);
  const std::string png = read_text(path("a/u.png")), svg = read_text(path("a/u.svg"));
  EXPECT_EQ(png.substr(0, 4), "\x89PNG");
  EXPECT_GT(png.size(), 10000u);
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_EQ(png, read_text(path("b/u.png")));
  EXPECT_EQ(svg, read_text(path("b/u.svg")));
  ASSERT_EQ(strobe({"inspect", "ucsocial", "--shape", "s.json"}).status, 0);
  EXPECT_EQ(strobe({"inspect", "s.json", "--figure", "c/s.png"}).status, 0) << "a measured shape holds what is drawn";
  expect_refusal(strobe({"inspect", "epinions", "--figure", "c/e.png"}), 2, {"nothing to draw"});
}

}  // namespace
}  // namespace strobe::cli_test
