// The page cache of a simulated node, judged by a cache of single pages.
#include "backends/sim/cost/page_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

namespace strobe::sim {
namespace {

/// Holds `room` pages, last used first.
class Pages {
 public:
  explicit Pages(std::size_t room) : room_(room) {}
  /// Whether the page had to be read.
  bool use(int page) {
    const auto at = std::find(held_.begin(), held_.end(), page);
    const bool read = at == held_.end();
    if (!read) held_.erase(at);
    held_.push_front(page);
    if (held_.size() > room_) held_.pop_back();
    return read;
  }

 private:
  std::size_t room_;
  std::list<int> held_;
};

TEST(PageCache, ReadsWhatACacheOfSinglePagesReads) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 draw(seed);
    const int parts = 1 + static_cast<int>(draw() % 7);
    std::vector<int> first{0};
    for (int part = 0; part < parts; ++part) first.push_back(first.back() + 1 + static_cast<int>(draw() % 9));
    const int pages = first.back(), room = 1 + static_cast<int>(draw() % (2 * pages));
    PageCache cache(room, 1, 1);
    Pages plain(room);
    std::vector<bool> known(parts, false);
    for (int visit = 0; visit < 60; ++visit) {
      const int part = static_cast<int>(draw() % parts);
      const double bytes = first[part + 1] - first[part];
      const double read = cache.use({part, bytes, bytes, static_cast<double>(pages)});
      int expected = 0;
      for (int page = first[part]; page < first[part + 1]; ++page) expected += plain.use(page) ? 1 : 0;
      if (known[part]) {
        EXPECT_EQ(read, expected) << seed << " " << visit;
      } else {
        EXPECT_EQ(read, pages <= room ? 0 : bytes) << "a first use, after the file was written";
      }
      known[part] = true;
    }
  }
}

/// Bytes that one of `here` ranks of a node, of four in all, reads in the second of two rounds over three parts of 60.
double second_round(double room, double here, double own, double readers) {
  PageCache cache(room, here, 4);
  double read = 0;
  for (int round = 0; round < 2; ++round) {
    read = 0;
    for (int part = 0; part < 3; ++part) read += cache.use({part, own, 60, 180, readers});
  }
  return read;
}

TEST(PageCache, RanksOfANodeShareItsRoom) {
  EXPECT_EQ(second_round(180, 4, 15, 1), 0) << "pages of their own";
  EXPECT_EQ(second_round(179, 4, 15, 1), 45);
  EXPECT_EQ(second_round(90, 2, 15, 1), 0) << "another node has the other half";
  EXPECT_EQ(second_round(89, 2, 15, 1), 45);
  EXPECT_EQ(second_round(89, 2, 20, 1), 60) << "of unequal parts, each rank reads its own";
  EXPECT_EQ(second_round(180, 4, 60, 4), 0) << "all need every page, which a node reads once";
  EXPECT_EQ(second_round(179, 4, 60, 4), 45);
  EXPECT_EQ(second_round(180, 2, 60, 4), 0);
  EXPECT_EQ(second_round(179, 2, 60, 4), 90);
  EXPECT_EQ(second_round(179, 1, 60, 4), 180);
}

TEST(PageCache, HasRoomForEverythingWhereNothingIsKnown) {
  EXPECT_EQ(second_round(-1, 2, 60, 1), 0);
  PageCache none(0, 1, 1);
  EXPECT_EQ(none.use({}), 0) << "work that reads no part";
}

}  // namespace
}  // namespace strobe::sim
