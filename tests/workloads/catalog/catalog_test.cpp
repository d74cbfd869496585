// The catalogue: every file of it, the faults its reader finds, and where data is looked for.
#include "workloads/catalog/catalog.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/shape/shape.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// Sets an environment variable and takes that back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedVariable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Catalogue, EveryFileIsAnEntryAndDescribed) {
  std::set<std::string> files;
  for (const auto& item : std::filesystem::directory_iterator(std::string(STROBE_SOURCE_DIR) + "/workloads/catalog"))
    if (item.path().extension() == ".json") files.insert(item.path().stem().string());
  std::set<std::string> names;
  for (const auto& [name, set] : catalogue()) {
    names.insert(name);
    for (const std::string& text : {set.entry.description, set.entry.citation, set.entry.value.origin,
                                    set.entry.value.licence, set.listed_source})
      EXPECT_FALSE(text.empty()) << name;
    if (!set.entry.value.format.empty()) {
      EXPECT_TRUE(FormatRegistry::instance().contains(set.entry.value.format)) << name;
    }
  }
  EXPECT_EQ(files, names);
  EXPECT_GE(names.size(), 30u);
}

TEST(Catalogue, HoldsTheLargeSetsOfThePapers) {
  for (const char* name : {"soc-flickr-growth",
                           "soc-youtube-growth",
                           "rec-epinions-user-ratings",
                           "rec-amazon-ratings",
                           "ia-slashdot-reply-dir",
                           "soc-bitcoin",
                           "sx-stackoverflow",
                           "sx-mathoverflow",
                           "CollegeMsg",
                           "email-Eu-core-temporal",
                           "soc-sign-bitcoin-otc",
                           "soc-sign-bitcoin-alpha",
                           "jodie-wikipedia",
                           "jodie-reddit",
                           "jodie-mooc",
                           "jodie-lastfm",
                           "tgl-gdelt",
                           "tgbl-wiki",
                           "amlsim-1m",
                           "pygt-chickenpox",
                           "pygt-england-covid",
                           "pygt-twitter-tennis",
                           "metr-la-week"})
    EXPECT_EQ(catalogue().count(name), 1u) << name;
  EXPECT_EQ(catalogue().at("sx-stackoverflow").listed_events, 63497050);
  EXPECT_EQ(catalogue().at("jodie-wikipedia").files.front().sha256.substr(0, 8), "a6b73e09");
}

TEST(Catalogue, AWorkloadsNameMeansOneThing) {
  std::set<std::string> seen;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) EXPECT_TRUE(seen.insert(name).second) << name << " is taken twice";
  };
  add(dataset_names());
  add(GeneratorRegistry::instance().names());
  add(EventGeneratorRegistry::instance().names());
  add(shape_names());
}

std::string catalogue_fault(const std::function<void(Json&)>& change) {
  Json json = Json::parse(test::read_bytes(std::string(STROBE_SOURCE_DIR) + "/workloads/catalog/jodie-wikipedia.json"));
  change(json);
  const TemporaryFolder folder;
  const std::string path = folder.write("set.json", json.dump());
  try {
    read_catalogue_file(path);
  } catch (const InvalidRequest& error) {
    return error.where().substr(path.size());
  }
  return "";
}

TEST(Catalogue, EveryFaultHasItsPointer) {
  EXPECT_EQ(catalogue_fault([](Json&) {}), "");
  EXPECT_EQ(catalogue_fault([](Json& s) { s.erase("terms"); }), "#/terms");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["licence"] = "MIT"; }), "#/licence");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["kind"] = "grpah"; }), "#/kind");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["strobe_dataset"] = 2; }), "#/strobe_dataset");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["window"] = "soon"; }), "#/window");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"] = Json::array(); }), "#/files");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["file"] = "../evil"; }), "#/files/0/file");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["url"] = "ftp://host/file"; }), "#/files/0/url");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["unpack"] = "rar"; }), "#/files/0/unpack");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["unpack"] = "zip"; }), "#/files/0/member");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["sha256"] = "abc"; }), "#/files/0/sha256");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0].erase("sha256_source"); }), "#/files/0/sha256_source");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["files"][0]["bytes"] = 0; }), "#/files/0/bytes");
  EXPECT_EQ(catalogue_fault([](Json& s) { s["listed"]["source"] = ""; }), "#/listed/source");
}

TEST(Catalogue, AbsentSetsSayHowToGetThem) {
  const TemporaryFolder folder;
  const ScopedVariable data("STROBE_DATA_DIR", folder.file("."));
  try {
    load_workload("sx-mathoverflow", Json::object(), 1);
    FAIL() << "a set that is not there was read";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("scripts/fetch_dataset sx-mathoverflow"), std::string::npos)
        << error.what();
    EXPECT_NE(error.file().find("sx-mathoverflow/sx-mathoverflow.txt.gz"), std::string::npos);
  }
  std::filesystem::create_directory(folder.file("amlsim-1m"));
  folder.write("amlsim-1m/accounts.csv", "count\n");
  try {
    load_workload("amlsim-1m", Json::object(), 1);
    FAIL() << "parameters were read as a graph";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("not a graph"), std::string::npos) << error.what();
  }
}

TEST(Catalogue, FetchedSetsAreReadAndListedCountsCompared) {
  const TemporaryFolder folder;
  const ScopedVariable data("STROBE_DATA_DIR", folder.file("."));
  std::filesystem::create_directory(folder.file("CollegeMsg"));
  test::write_gzip(folder.file("CollegeMsg/CollegeMsg.txt.gz"), "1 2 1082040961\n3 4 1082155839\n5 2 1083155839\n");
  const SnapshotGraph graph = load_workload("CollegeMsg", Json::object(), 1);
  EXPECT_EQ(graph.vertices, 5);
  EXPECT_EQ(graph.steps(), 2) << "windows of 7 days";
  EXPECT_EQ(graph.provenance.source, "https://snap.stanford.edu/data/CollegeMsg.html");
  ASSERT_EQ(graph.provenance.notes.size(), 2u);
  EXPECT_EQ(graph.provenance.notes[0], "columns were taken as source, target, time");
  EXPECT_NE(graph.provenance.notes[1].find("lists 1,899 vertices and 59,835 events"), std::string::npos);
  EXPECT_EQ(load_workload("chess", Json::object(), 1).vertices, 7301) << "bundled sets stay where they are";
}

TEST(Catalogue, DataIsLookedForWhereItIsFetchedTo) {
  const TemporaryFolder folder;
  unsetenv("STROBE_DATA_DIR");
  const ScopedVariable home("XDG_DATA_HOME", folder.file("data"));
  EXPECT_EQ(find_data_file("CollegeMsg/CollegeMsg.txt.gz"), folder.file("data/strobe/CollegeMsg/CollegeMsg.txt.gz"));
  EXPECT_EQ(find_data_file("chess/out.chess.gz"), data_directory() + "/chess/out.chess.gz");
  const ScopedVariable chosen("STROBE_DATA_DIR", folder.file("own"));
  EXPECT_EQ(find_data_file("CollegeMsg/x"), folder.file("own/CollegeMsg/x"));
}

TEST(Documentation, NamesEveryFormatAndFieldOfAShape) {
  const std::string folder = std::string(STROBE_SOURCE_DIR) + "/docs/reference/";
  const std::string formats = test::read_bytes(folder + "formats.md"),
                    shapes = test::read_bytes(folder + "shape_files.md");
  for (const std::string& name : FormatRegistry::instance().names())
    EXPECT_NE(formats.find("`" + name + "`"), std::string::npos) << name;
  const Json shape = to_json(load_shape("epinions"));
  for (const auto& [key, value] : shape.items())
    if (key != "strobe_shape" && key != "name" && key != "description")
      EXPECT_NE(shapes.find("`" + key + "`"), std::string::npos) << key;
}

TEST(Catalogue, AShapeIsNotAGraph) {
  try {
    load_workload("epinions", Json::object(), 1);
    FAIL() << "a shape was loaded as a graph";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("strobe inspect epinions"), std::string::npos);
  }
}

}  // namespace
}  // namespace strobe
