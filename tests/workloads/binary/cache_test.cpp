#include "workloads/binary/cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// When this program runs outside ctest, no test writes into the user's cache.
[[maybe_unused]] const int no_other_cache = setenv("STROBE_CACHE", "off", 0);

/// An environment variable for the life of the object; nothing = unset.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }

 private:
  void set(const std::optional<std::string>& value) const {
    value ? setenv(name_, value->c_str(), 1) : unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

/// A cache in a separate folder.
struct Cache {
  TemporaryFolder folder;
  Variable on{"STROBE_CACHE", std::nullopt}, place{"STROBE_CACHE_DIR", folder.file("cache")};

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder.file("cache"), none))
      if (entry.path().extension() != ".seal") found.push_back(entry);
    return found;
  }
};

/// A SNAP file above the size that is worth a cache.
std::string write_text(const TemporaryFolder& folder, int last_time) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += std::to_string(i % 997) + " " + std::to_string(i % 91) + " " + std::to_string(i) + "\n";
  return folder.write("events.txt", text + "1 2 " + std::to_string(last_time) + "\n");
}

EventGraph load(const std::string& path, const Json& options = Json::object()) {
  return load_events(path, options).value();
}

void expect_same(const EventGraph& a, const EventGraph& b) {
  EXPECT_TRUE(a.source == b.source && a.target == b.target && a.time == b.time && a.original_id == b.original_id);
  EXPECT_EQ(a.provenance.format, b.provenance.format);
  EXPECT_EQ(a.provenance.sha256, b.provenance.sha256);
  EXPECT_EQ(a.provenance.source, b.provenance.source);
  EXPECT_EQ(a.provenance.name, b.provenance.name);
  EXPECT_EQ(a.provenance.notes, b.provenance.notes);
  EXPECT_EQ(a.provenance.duplicates, b.provenance.duplicates);
}

TEST(Cache, RowsBeyondABoundOfMemoryComeFromTheCachedFile) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 1);
  const EventGraph whole = load(path, {{"cache", "off"}});
  const BoundedReading bound(std::uint64_t{1} << 20, cache.folder.file(""));
  for (const bool exceeded : {true, false}) {  // the second time the cache has it
    reading_bound()->exceeded = false;
    const EventGraph graph = load(path);
    EXPECT_EQ(reading_bound()->exceeded, exceeded);
    EXPECT_EQ(cache.files().size(), 1u);
    EXPECT_EQ(graph.provenance.was_sorted, whole.provenance.was_sorted);
    expect_same(graph, whole);
  }
}

TEST(Cache, TheSecondReadingIsMappedAndEqual) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 200'000);
  const EventGraph first = load(path);
  ASSERT_EQ(cache.files().size(), 1u);
  int read = 0;
  const EventGraph second = read_through_cache(path, "format= ids=auto", [&] {
    ++read;
    return EventGraph();
  });
  EXPECT_EQ(read, 0) << "the text was parsed again";
  expect_same(first, second);
  expect_same(first, load(path));
  EXPECT_EQ(load(path, {{"ids", "offset"}}).provenance.ids, "offset") << "another option is another graph";
  EXPECT_EQ(cache.files().size(), 2u);
}

TEST(Cache, AChangedSourceIsReadAgain) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 200'000);
  EXPECT_EQ(load(path).time.back(), 200'000);
  write_text(cache.folder, 300'000);  // as long as before
  EXPECT_EQ(load(path).time.back(), 300'000);
  EXPECT_EQ(load(path).time.back(), 300'000);
  EXPECT_EQ(cache.files().size(), 1u) << "the stale copy was not replaced";
}

TEST(Cache, ACompanionThatAppearsOrChangesMakesItStale) {
  const Cache cache;
  std::string text = "sourceNodeId,targetNodeId,value,time\n";
  for (int i = 0; i < 100'000; ++i) text += "1,2,10.25," + std::to_string(i) + "\n";
  const std::string path = cache.folder.write("tx.csv", text);
  EXPECT_TRUE(load(path).vertex_label.empty());
  cache.folder.write("nodes.csv", "nodeid,isFraud\n1,0\n2,1\n");
  EXPECT_EQ(load(path).vertex_label, (std::vector<std::int8_t>{0, 1}));
  cache.folder.write("nodes.csv", "nodeid,isFraud\n1,1\n2,0\n");
  EXPECT_EQ(load(path).vertex_label, (std::vector<std::int8_t>{1, 0}));
  EXPECT_EQ(load(path).vertex_label, (std::vector<std::int8_t>{1, 0}));
}

TEST(Cache, DamagedCopiesAreReplacedAndSmallFilesHaveNone) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 200'000);
  const EventGraph first = load(path);
  const std::string copy = cache.files().at(0).string();
  const std::string bytes = test::read_bytes(copy);
  for (const std::size_t size : {std::size_t{0}, std::size_t{50}, bytes.size() / 2}) {
    std::ofstream(copy, std::ios::binary) << bytes.substr(0, size);
    expect_same(first, load(path));
    EXPECT_EQ(test::read_bytes(copy).size(), bytes.size()) << "not replaced";
  }
  std::string flipped = bytes;
  flipped[bytes.size() - 9] = static_cast<char>(flipped[bytes.size() - 9] ^ 1);
  std::ofstream(copy, std::ios::binary) << flipped;
  expect_same(first, load(path));
  load(cache.folder.write("small.txt", "1 2 3\n"));
  EXPECT_EQ(cache.files().size(), 1u);
}

TEST(Cache, IsOffWhenAskedAndAnUnwritableFolderIsANote) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 200'000);
  load(path, {{"cache", "off"}});
  {
    const Variable off("STROBE_CACHE", "off");
    EXPECT_EQ(cache_folder(), "");
    load(path);
  }
  EXPECT_TRUE(cache.files().empty());
  EXPECT_FALSE(complete_workload_parameters(path, Json::object(), "").contains("cache"));
  EXPECT_EQ(complete_workload_parameters(path, {{"cache", "off"}}, "")["cache"], "off");
  cache.folder.write("cache", "a file where the folder should be");
  const EventGraph graph = load(path);
  EXPECT_EQ(graph.events(), 100'001);
  ASSERT_FALSE(graph.provenance.notes.empty());
  EXPECT_NE(graph.provenance.notes.back().find("the binary cache was not written"), std::string::npos);
}

TEST(Cache, FolderFollowsTheEnvironment) {
  const Variable on("STROBE_CACHE", std::nullopt), home("HOME", "/home/someone");
  const Variable none("STROBE_CACHE_DIR", std::nullopt), caches("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(cache_folder(), "/caches/strobe");
  const Variable without("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), "/home/someone/.cache/strobe");
  const Variable chosen("STROBE_CACHE_DIR", "/chosen");
  EXPECT_EQ(cache_folder(), "/chosen");
}

TEST(Cache, WritersAtTheSameTimeLeaveOneGoodCopy) {
  const Cache cache;
  const std::string path = write_text(cache.folder, 200'000);
  std::vector<EventGraph> graphs(4);
  {
    std::vector<std::jthread> readers;
    for (EventGraph& graph : graphs) readers.emplace_back([&] { graph = load(path); });
  }
  for (const EventGraph& graph : graphs) expect_same(graph, graphs[0]);
  EXPECT_EQ(cache.files().size(), 1u) << "a temporary file was left";
  EXPECT_EQ(read_binary_graph(cache.files().at(0).string(), true).events(), 100'001);
}

}  // namespace
}  // namespace strobe
