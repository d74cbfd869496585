// `strobe list` has exactly the plug-ins of the source tree: the linker dropped none, and all are documented.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class List : public Program {
 protected:
  Json entries(const std::string& kind) {
    const Outcome outcome = strobe({"list", kind, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json listed = Json::parse(outcome.out);
    EXPECT_EQ(listed.at("kind"), kind);
    return listed.at("entries");
  }
};

const std::filesystem::path root = STROBE_SOURCE_DIR;
const std::vector<std::string> kinds = {"workloads",  "shapes",        "models",      "strategies", "schedules",
                                        "devices",    "communicators", "formats",     "tasks",      "generators",
                                        "optimizers", "cost-models",   "partitioners"};

/// Files that register a plug-in that is listed, found by their text.
std::set<std::string> registering_files() {
  const std::regex registers(R"(Register<(\w+)Tag>\s+\w)");
  std::set<std::string> files;
  for (const char* folder : {"backends", "workloads", "models", "harness"}) {
    for (const auto& item : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (item.path().extension() != ".cpp") continue;
      const std::string text = read_text(item.path());
      std::smatch match;
      if (!std::regex_search(text, match, registers) || match[1] == "Command") continue;
      // The schema of rows and --help list these.
      if (match[1] == "Facts" || match[1] == "OutputFile" || match[1] == "PlanAdvice") continue;
      if (match[1] == "EventTask") continue;  // listed under the task for models of snapshots
      files.insert(std::filesystem::relative(item.path(), root).string());
    }
  }
  return files;
}

TEST_F(List, EqualsTheFilesOnDisk) {
  std::set<std::string> listed;
  for (const std::string& kind : kinds) {
    for (const Json& entry : entries(kind)) listed.insert(entry.at("file").get<std::string>());
  }
  std::set<std::string> present = registering_files();
  for (const char* folder : {"workloads/catalog", "workloads/shapes"}) {
    for (const auto& item : std::filesystem::directory_iterator(root / folder))
      if (item.path().extension() == ".json")
        present.insert(std::string(folder) + "/" + item.path().filename().string());
  }
  // These leave themselves out of a build without their library.
  for (const std::string optional :
       {"backends/mpi/", "backends/cuda/", "backends/nccl/", "workloads/partitioners/metis.cpp",
        "workloads/partitioners/zoltan_phg.cpp", "workloads/partitioners/ptscotch.cpp"}) {
    const auto is_it = [&](const std::string& file) { return file.rfind(optional, 0) == 0; };
    if (std::none_of(listed.begin(), listed.end(), is_it)) std::erase_if(present, is_it);
  }
  EXPECT_EQ(listed, present);
}

/// Shared code of plug-ins has a header of the same name; a file without one is a plug-in.
TEST_F(List, EveryFileOfAPlugInFolderRegisters) {
  const std::set<std::string> present = registering_files();
  for (const char* folder :
       {"workloads/catalog", "workloads/formats", "workloads/generators", "workloads/partitioners", "models/tasks",
        "models/optimizers", "models/snapshots", "harness/full_batch/strategies", "backends/sim/collectives"}) {
    std::size_t files = 0;
    for (const auto& item : std::filesystem::directory_iterator(root / folder)) {
      const std::filesystem::path header = std::filesystem::path(item.path()).replace_extension(".hpp");
      if (item.path().extension() != ".cpp" || std::filesystem::exists(header)) continue;
      ++files;
      EXPECT_EQ(present.count(std::string(folder) + "/" + item.path().filename().string()), 1u) << item.path();
    }
    EXPECT_GT(files, 0u) << folder;
  }
}

TEST_F(List, KernelsAreThoseThatARunTakes) {
  std::set<std::string> variants;
  for (const Json& entry : entries("kernels")) {
    EXPECT_FALSE(entry.at("operations").empty()) << entry;
    if (entry.at("device") == "cpu") variants.insert(entry.at("name").get<std::string>());
  }
  EXPECT_EQ(variants.count("plain") + variants.count("vector"), 2u);
  const std::vector<std::string> words = {"run", "--workload", tiny, "--dry-run", "--kernels"};
  for (const std::string& variant : variants) {
    std::vector<std::string> with = words;
    with.push_back(variant);
    EXPECT_EQ(strobe(with).status, 0) << variant;
  }
  for (const std::string device : {"cpu", "sim"}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"plane", "--device", device});
    expect_refusal(strobe(with), 2, {"--kernels", "did you mean 'plain'?", "vector", device});
  }
}

TEST_F(List, ClustersEqualTheirFiles) {
  std::set<std::string> listed, present;
  for (const Json& entry : entries("clusters")) listed.insert(entry.at("file").get<std::string>());
  for (const auto& item : std::filesystem::directory_iterator(root / "backends/clusters")) {
    present.insert("backends/clusters/" + item.path().filename().string());
  }
  EXPECT_EQ(listed, present);
}

TEST_F(List, ClustersSayWhatMessagesCostAndHowFarTheirSourcesReach) {
  for (const Json& entry : entries("clusters")) {
    for (const char* key : {"message_seconds", "all_to_all_peer_seconds"}) {
      EXPECT_GE(entry.at(key).at("value").get<double>(), 2.75e-7) << entry.at("name") << " " << key;
      EXPECT_FALSE(entry.at(key).at("source").get<std::string>().empty()) << entry.at("name") << " " << key;
    }
    EXPECT_GE(entry.at("covered_ranks").get<int>(), 1) << entry.at("name");
  }
}

TEST_F(List, WorkloadsSayWhereTheyComeFromAndHowLargeTheyAre) {
  std::map<std::string, int> kinds_seen;
  for (const Json& entry : entries("workloads")) {
    const std::string kind = entry.at("kind").get<std::string>(), name = entry.at("name").get<std::string>();
    ++kinds_seen[kind];
    if (kind == "generator" || kind == "generator of events") continue;
    for (const char* key : {"origin", "licence", "size_source"})
      EXPECT_FALSE(entry.at(key).get<std::string>().empty()) << name;
    EXPECT_TRUE(entry.contains("vertices") && entry.contains("events")) << name;
    EXPECT_EQ(entry.at("present").get<bool>(), std::filesystem::exists(entry.at("path").get<std::string>())) << name;
    if (kind != "bundled data set") {
      EXPECT_EQ(entry.at("fetch"), "scripts/fetch_dataset " + name);
    }
  }
  EXPECT_GE(kinds_seen["bundled data set"], 3);
  EXPECT_GE(kinds_seen["data set to fetch"], 30);
  EXPECT_EQ(kinds_seen["parameters to fetch"], 1);
  EXPECT_GE(kinds_seen["generator"], 1);
  EXPECT_EQ(kinds_seen["generator of events"], 2);
  const Outcome text = strobe({"list", "workloads"});
  for (const char* words : {"size: 2,601,977 vertices, 63,497,050 events", "terms: CC BY-SA 2.0 DE",
                            "data set to fetch", "Every data set and file:"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words;
}

TEST_F(List, EveryEntryIsDescribedAndEveryParameterHasUnitDefaultAndHelp) {
  for (const std::string& kind : kinds) {
    const Json listed = entries(kind);
    EXPECT_FALSE(listed.empty()) << kind;
    for (const Json& entry : listed) {
      const std::string name = entry.at("name").get<std::string>();
      EXPECT_FALSE(entry.at("description").get<std::string>().empty()) << kind << " " << name;
      EXPECT_FALSE(entry.at("citation").get<std::string>().empty()) << kind << " " << name;
      for (const Json& field : entry.at("parameters")) {
        for (const char* key : {"name", "type", "unit", "default", "help"}) EXPECT_TRUE(field.contains(key)) << name;
        EXPECT_FALSE(field.at("help").get<std::string>().empty()) << name << " " << field.at("name");
      }
    }
  }
}

TEST_F(List, TextNamesEveryEntry) {
  for (const std::string& kind : kinds) {
    const Outcome outcome = strobe({"list", kind});
    EXPECT_EQ(outcome.status, 0);
    for (const Json& entry : entries(kind))
      EXPECT_NE(outcome.out.find(entry.at("name").get<std::string>()), std::string::npos);
  }
}

TEST_F(List, UnknownKindNamesTheNearest) {
  expect_refusal(strobe({"list", "modles"}), 2, {"unknown kind 'modles'", "did you mean 'models'?"});
  expect_refusal(strobe({"list"}), 2, {"workloads", "cost-models"});
}

TEST_F(List, EnvIsJson) {
  const Outcome outcome = strobe({"env"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(Json::parse(outcome.out).is_object());
}

TEST_F(List, HelpGoesToStandardOutput) {
  for (const char* command : {"run", "list", "inspect", "convert", "env", "compare"}) {
    const Outcome outcome = strobe({command, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Example"), std::string::npos) << command;
  }
}

TEST_F(List, InspectCountsAKnownGraph) {
  const Outcome outcome = strobe({"inspect", "ucsocial", "--window", "1d", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json facts = Json::parse(outcome.out);
  EXPECT_EQ(facts.at("vertices"), 1899);  // konect.cc, opsahl-ucsocial
  EXPECT_EQ(facts.at("events"), 59835);
  EXPECT_EQ(facts.at("steps"), 194);
}

TEST_F(List, ConvertRoundTripKeepsEveryEvent) {
  ASSERT_EQ(strobe({"convert", "chess", "chess.strobe"}).status, 0);
  ASSERT_EQ(strobe({"convert", "chess", "direct.csv"}).status, 0);
  ASSERT_EQ(strobe({"convert", path("chess.strobe"), "again.csv"}).status, 0);
  const std::string direct = read_text(path("direct.csv"));
  EXPECT_EQ(std::count(direct.begin(), direct.end(), '\n'), 65053 + 1);
  EXPECT_EQ(direct, read_text(path("again.csv")));
}

TEST_F(List, ConvertKeepsTheStepsOfAGeneratorAndOfAFile) {
  ASSERT_EQ(strobe({"convert", "uniform:vertices=50,steps=4", "u.strobe", "--seed", "7"}).status, 0);
  ASSERT_EQ(strobe({"convert", path("u.strobe"), "again.strobe"}).status, 0);
  const Outcome direct = strobe({"inspect", "uniform:vertices=50,steps=4", "--seed", "7", "--json"});
  const Outcome converted = strobe({"inspect", path("again.strobe"), "--json"});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const Json expected = Json::parse(direct.out), found = Json::parse(converted.out);
  for (const char* key :
       {"vertices", "steps", "edges", "edges_per_step", "overlap_per_step", "in_degree", "out_degree"})
    EXPECT_EQ(found.at(key), expected.at(key)) << key;
  EXPECT_EQ(found.at("format"), "strobe-snapshots");
  EXPECT_EQ(found.at("steps"), 4);
  ASSERT_EQ(strobe({"convert", "ucsocial:window=7d", "weeks.strobe"}).status, 0);
  const Outcome weeks = strobe({"inspect", path("weeks.strobe"), "--json"});
  ASSERT_EQ(weeks.status, 0) << weeks.err;
  EXPECT_EQ(Json::parse(weeks.out).at("steps"), 28);
}

}  // namespace
}  // namespace strobe::cli_test
