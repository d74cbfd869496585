// Features in a mapped file: the pages of a batch's rows come before their use, and leave the process after it.
#include "harness/event_batches/trainer/feature_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tests/workloads/support.hpp"
#include "workloads/storage/mapped_file.hpp"

namespace strobe {
namespace {

constexpr std::int64_t floats_of_row = 1024, rows_of_file = 4096;  // a row is a page
constexpr std::size_t bytes_of_page = 4096;

/// A file of features that is not in memory, mapped; and events that read them.
class MappedFeatures {
 public:
  explicit MappedFeatures(const test::TemporaryFolder& folder) {
    const std::string path = folder.file("features");
    std::ofstream(path) << std::string(rows_of_file * bytes_of_page, '\1');
    const int file = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(fsync(file), 0);
    EXPECT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(file);
    mapped_ = std::make_shared<const MappedFile>(path);
    auto graph = std::make_shared<EventGraph>();
    graph->edge_feature_width = floats_of_row;
    graph->edge_features = Column<float>(mapped_, reinterpret_cast<const float*>(mapped_->bytes().data()),
                                         static_cast<std::size_t>(rows_of_file * floats_of_row));
    data.graph = data.whole = graph;
    spare_process_memory(true);
  }
  ~MappedFeatures() { spare_process_memory(false); }
  MappedFeatures(const MappedFeatures&) = delete;
  MappedFeatures& operator=(const MappedFeatures&) = delete;

  /// Whether the system holds the page of each row.
  std::vector<unsigned char> held() const {
    std::vector<unsigned char> pages(rows_of_file);
    EXPECT_EQ(mincore(const_cast<char*>(mapped_->bytes().data()), rows_of_file * bytes_of_page, pages.data()), 0);
    for (unsigned char& one : pages) one &= 1;
    return pages;
  }
  std::int64_t held_rows() const {
    const std::vector<unsigned char> pages = held();
    return std::count(pages.begin(), pages.end(), 1);
  }

  EventData data;

 private:
  std::shared_ptr<const MappedFile> mapped_;
};

/// Resident pages of files in this process.
std::int64_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  std::int64_t kibibytes = 0;
  for (std::string word; status >> word;)
    if (word == "RssFile:" && status >> kibibytes) break;
  return kibibytes * 1024;
}

BatchDraw some_rows(std::mt19937& draw, int rows) {
  BatchDraw drawn;
  drawn.levels.resize(2);
  for (auto* list : {&drawn.mail_events, &drawn.levels[0].events, &drawn.levels[1].events}) {
    for (int i = 0; i < rows; ++i) list->push_back(static_cast<std::int64_t>(draw() % rows_of_file));
  }
  return drawn;
}

bool holds(const std::vector<unsigned char>& pages, const BatchDraw& drawn) {
  const auto all = [&](const std::vector<std::int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t row) { return pages[row] == 1; });
  };
  return all(drawn.mail_events) && all(drawn.levels[0].events) && all(drawn.levels[1].events);
}

TEST(FeaturePages, RowsOfABatchAreReadBeforeTheirUse) {
  for (const unsigned seed : {1, 2, 3}) {
    const test::TemporaryFolder folder;
    const MappedFeatures features(folder);
    if (features.held_rows() > 0) GTEST_SKIP() << "the folder's file system keeps its pages in memory";
    std::mt19937 draw(seed);
    const BatchDraw drawn = some_rows(draw, 20);
    spare_process_memory(false);
    read_features_ahead(features.data, drawn);
    EXPECT_EQ(features.held_rows(), 0);
    spare_process_memory(true);
    read_features_ahead(features.data, drawn);
    for (int i = 0; i < 1000 && !holds(features.held(), drawn); ++i) usleep(10'000);
    EXPECT_TRUE(holds(features.held(), drawn));
    EXPECT_LT(features.held_rows(), rows_of_file / 2);
  }
}

TEST(FeaturePages, RowsOfABatchLeaveTheProcessAfterTheirUse) {
  const test::TemporaryFolder folder;
  const MappedFeatures features(folder);
  std::mt19937 draw(5);
  const BatchDraw drawn = some_rows(draw, 300);
  const std::int64_t before = mapped_bytes();
  float sum = 0;
  const float* const values = features.data.whole->edge_features.data();
  for (std::int64_t row = 0; row < rows_of_file; ++row) sum += values[row * floats_of_row];
  EXPECT_GT(sum, 0);
  EXPECT_GT(mapped_bytes() - before, rows_of_file * 4000);
  let_features_go(features.data, drawn);
  EXPECT_LT(mapped_bytes() - before, rows_of_file * 4096 - 700 * 4096);  // 900 draws of 4096 rows are 800 and more
}

}  // namespace
}  // namespace strobe
