// The committed schema is the generated one, and what is written validates against it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "results/row/row.hpp"
#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::text_of;

const std::string schema_path = std::string(STROBE_SOURCE_DIR) + "/results/schema/summary.schema.json";
const std::string golden_summary = std::string(STROBE_TEST_DIR) + "/results/golden/summary.json";

TEST(SummarySchema, CommittedFileIsTheGeneratedOne) {
  const std::string generated = summary_schema().dump(2) + "\n";
  if (std::getenv("STROBE_UPDATE_GOLDEN") != nullptr) testing_results::write_text(schema_path, generated);
  EXPECT_EQ(text_of(schema_path), generated) << "run this test once with STROBE_UPDATE_GOLDEN=1 and commit the file";
}

/// Keys of all objects of the schema.
std::size_t keys_in(const Json& schema) {
  std::size_t count = schema.is_object() && schema.contains("properties") ? schema.at("properties").size() : 0;
  for (const Json& part : schema)
    if (part.is_structured()) count += keys_in(part);
  return count;
}

TEST(SummarySchema, AKeyMoreIsANewVersion) {
  EXPECT_EQ(summary_schema_version + std::string(": ") + std::to_string(keys_in(summary_schema())), "2.5.0: 164")
      << "raise the version in results/row/row.hpp, note it in CHANGELOG.md, and count again here";
}

/// One row a line, so that a difference shows which row it is of.
std::string line_by_line(const Summary& summary) {
  Json json = summary_to_json(summary);
  std::string rows;
  for (const Json& row : json.at("rows")) rows += (rows.empty() ? "\n" : ",\n") + row.dump();
  json["rows"] = Json::array();
  std::string text = json.dump();
  return text.replace(text.rfind("[]"), 2, "[" + rows + "\n]") + "\n";
}

TEST(SummarySchema, GoldenSummaryReadsAndWritesUnchanged) {
  const Summary summary = read_summary(golden_summary);
  if (std::getenv("STROBE_UPDATE_GOLDEN") != nullptr)
    testing_results::write_text(golden_summary, line_by_line(summary));
  EXPECT_GE(summary.rows.size(), 10u);
  EXPECT_EQ(summary_to_json(summary), Json::parse(text_of(golden_summary)));
}

TEST(SummarySchema, RowsOfVersionOneZeroLackTheBandAndReadAllTheSame) {
  Json json = row_to_json(read_summary(golden_summary).rows.front());
  ASSERT_EQ(json.erase("epoch_seconds_band90"), 1u);
  const Row row = row_from_json(json, "rows.json");
  EXPECT_FALSE(row.epoch_seconds_band90.has_value());
  json.erase("epoch_seconds");
  EXPECT_THROW(row_from_json(json, "rows.json"), InvalidInput);
}

class SchemaValidation : public ::testing::Test {
 protected:
  void SetUp() override {
    python_ = testing_results::find_python("jsonschema");
    if (python_.empty()) GTEST_SKIP() << "no Python with jsonschema (apt: python3-jsonschema)";
  }

  /// Exit status of validating the file, 0 when it is valid.
  int validate(const std::string& path) const {
    return testing_results::validate_by_schema(python_, schema_path, path, output_path());
  }
  std::string output_path() const { return folder_.file("output"); }

  testing_results::TemporaryFolder folder_;
  std::string python_;
};

TEST_F(SchemaValidation, WrittenSummariesValidate) {
  CaseResult failed, approximate = make_result(8);
  failed.status = "timeout";
  approximate.exact = false;
  approximate.approximations = {"stale"};
  const Summary summary{"hash",
                        {summarise(case_json(), "a", make_result()), summarise(case_json(), "b", failed),
                         summarise(case_json(), "c", approximate)}};
  testing_results::write_text(folder_.file("summary.json"), summary_to_json(summary).dump());
  EXPECT_EQ(validate(folder_.file("summary.json")), 0) << text_of(output_path());
  EXPECT_EQ(validate(golden_summary), 0) << text_of(output_path());
}

TEST_F(SchemaValidation, WrongSummariesDoNot) {
  const Json good = summary_to_json({"hash", {summarise(case_json(), "a", make_result())}});
  const std::pair<const char*, Json> faults[] = {
      {"/rows/0/status", "fine"}, {"/rows/0/ranks", 0},       {"/rows/0/phase_seconds/compute", "1"},
      {"/rows/0/exact", false},   {"/rows/0/unknown_key", 1}, {"/schema_version", "3.0.0"}};
  for (const auto& [pointer, value] : faults) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    testing_results::write_text(folder_.file("bad.json"), bad.dump());
    EXPECT_EQ(validate(folder_.file("bad.json")), 1) << pointer << " " << text_of(output_path());
  }
}

}  // namespace
}  // namespace strobe
