// Public measurements of collectives: every table is predicted and compared, and malformed files are refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/validation/published_collectives.hpp"

namespace strobe {
namespace {

TEST(PublishedCollectives, EveryTableHasRowsThatJudge) {
  std::vector<CollectiveTable> tables = load_collective_tables();
  ASSERT_GE(tables.size(), 5u);
  for (CollectiveTable& table : tables) {
    predict(table);
    EXPECT_FALSE(table.source.empty());
    EXPECT_GT(summarise(table, false).count, 0u) << table.name;
    for (const CollectiveRow& row : table.rows) EXPECT_GT(row.predicted_seconds, 0) << table.name;
  }
}

TEST(PublishedCollectives, AFileThatIsNoneIsRefused) {
  EXPECT_THROW(read_collective_tables(Json::object(), "a file"), InvalidInput);
  const Json row{{"collective", "all_reduc"}, {"ranks", 8}, {"bytes", 1}, {"seconds", 1}};
  const Json table{{"name", "a"}, {"description", "b"}, {"source", "c"},
                   {"date", "d"}, {"cluster", "e"},     {"rows", {row}}};
  EXPECT_THROW(read_collective_tables(Json{{"tables", {table}}}, "a file"), InvalidInput);
}

}  // namespace
}  // namespace strobe
