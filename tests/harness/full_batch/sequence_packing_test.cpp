// Bins: no two pieces overlap, no bin is longer than the longest piece, equal pieces are next to each other, and few
// cells are padding.
#include "harness/full_batch/inputs/sequence_packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace strobe {
namespace {

TEST(SequencePacking, PutsEveryPieceIntoABinOfItsOwnRows) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 draw(seed);
    std::vector<std::int32_t> lengths(1 + draw() % 60);
    for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(1 + draw() % (seed % 3 == 0 ? 3 : 20));
    const SequencePacking packing = pack_sequences(lengths);
    EXPECT_EQ(packing.steps, *std::max_element(lengths.begin(), lengths.end()));
    std::set<std::int64_t> rows;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      EXPECT_LE(packing.first_row[i] / packing.bins + lengths[i], packing.steps);
      for (std::int32_t s = 0; s < lengths[i]; ++s)
        EXPECT_TRUE(rows.insert(packing.first_row[i] + s * packing.bins).second) << "two pieces in one row";
    }
    EXPECT_LT(*rows.rbegin(), packing.rows());
    // At most one bin is less than half full: the pieces of two such bins would fit into one.
    const std::int64_t cells = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    EXPECT_LE(packing.bins, 2 * cells / packing.steps + 1);
  }
}

TEST(SequencePacking, OfEqualPiecesIsARectangleInTheirOrder) {
  const SequencePacking packing = pack_sequences(std::vector<std::int32_t>(7, 5));
  EXPECT_EQ(packing.steps, 5);
  EXPECT_EQ(packing.bins, 7);
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_EQ(packing.first_row[i], i);
}

TEST(SequencePacking, OfNothingHasNoBins) { EXPECT_EQ(pack_sequences({}).rows(), 0); }

TEST(SequencePacking, PaddingGivesEveryPieceABin) {
  const SequencePacking padded = pad_sequences({1, 4, 2, 3, 1, 1});
  EXPECT_EQ(padded.bins, 6);
  EXPECT_EQ(padded.rows(), 24);  // half of them are padding
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(padded.first_row[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(pad_sequences({}).rows(), 0);
}

TEST(SequencePacking, FillsUpWithShortPieces) {
  const SequencePacking packing = pack_sequences({1, 4, 2, 3, 1, 1});
  EXPECT_EQ(packing.bins, 3);
  EXPECT_EQ(packing.rows(), 12);  // 12 cells without padding
}

}  // namespace
}  // namespace strobe
