// Columns that processes have in common: the same values as before, in one file for equal values.
#include "workloads/storage/shared_columns.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/ids.hpp"
#include "core/random.hpp"
#include "tests/workloads/storage/store_in.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

std::size_t values_in(const test::TemporaryFolder& folder) {
  std::size_t values = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("cache")))
    values += entry.path().extension() == ".lock" ? 0u : 1u;
  return values;
}

/// Columns of random lengths. Some are empty.
template <class T>
std::vector<Column<T>> random_columns(std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  std::uint64_t draw = 0;
  std::vector<Column<T>> columns(7);
  for (Column<T>& column : columns)
    for (std::uint64_t i = random.below(draw++, 3) * 50; i > 0; --i)
      column.push_back(static_cast<T>(random.below(draw++, 1000)) - 1);
  return columns;
}

template <class T>
std::vector<Column<T>*> pointers(std::vector<Column<T>>& columns) {
  std::vector<Column<T>*> all;
  for (Column<T>& column : columns) all.push_back(&column);
  return all;
}

template <class T>
void check_values(const NodeStore& store, std::uint64_t seed) {
  const std::vector<Column<T>> before = random_columns<T>(seed);
  std::vector<Column<T>> columns = random_columns<T>(seed);
  share_columns(&store, pointers(columns));
  EXPECT_EQ(columns, before) << seed;
  for (const Column<T>& column : columns) EXPECT_EQ(column.own_bytes(), 0u) << seed;
}

TEST(SharedColumns, KeepTheirValuesAndTakeNoPrivateMemory) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    check_values<Rank>(*store, seed);
    check_values<std::uint32_t>(*store, seed);
    check_values<std::int64_t>(*store, seed);
    check_values<double>(*store, seed);
  }
}

TEST(SharedColumns, LieInOneFileIfAndOnlyIfTheyAreEqual) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  std::vector<Column<Rank>> first = {{1, 2, 3}, {4}}, equal = {{1, 2, 3}, {4}}, other = {{1, 2, 3}, {5}};
  share_columns(store.get(), pointers(first));
  EXPECT_EQ(values_in(folder), 1u);
  share_columns(store.get(), pointers(equal));
  EXPECT_EQ(values_in(folder), 1u);
  EXPECT_EQ(equal, first);
  share_columns(store.get(), pointers(other));
  EXPECT_EQ(values_in(folder), 2u);
  EXPECT_EQ(other[1][0], 5);
  EXPECT_EQ(first[1][0], 4);
}

TEST(SharedColumns, StayAsTheyAreWithoutAStore) {
  std::vector<Column<Rank>> columns = {{1, 2, 3}};
  share_columns<Rank>(nullptr, pointers(columns));
  EXPECT_FALSE(columns[0].is_view());
  EXPECT_EQ(columns[0], (std::vector<Rank>{1, 2, 3}));
}

}  // namespace
}  // namespace strobe
