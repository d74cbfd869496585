#include "results/row/table.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;

TEST(TextTable, AlignsAndCutsTrailingBlanks) {
  TextTable table({{"name", false}, {"n", true}, {"note", false}});
  table.add({"a", "1", ""});
  table.add({"längst", "1000", "x"});
  EXPECT_EQ(table.text(),
            "name       n  note\n"
            "------  ----  ----\n"
            "a          1\n"
            "längst  1000  x\n");
  table.add({"too few"});
  EXPECT_THROW(table.text(), Error);
}

TEST(TextTable, TitlesSayWhichColumnsStandToTheRight) {
  TextTable table("name|n>|note");
  table.add({"a", "1", "x"});
  table.add({"b", "1000", "y"});
  EXPECT_EQ(table.text(),
            "name     n  note\n"
            "----  ----  ----\n"
            "a        1  x\n"
            "b     1000  y\n");
}

TEST(SummaryTable, ShowsTimesBytesStatusAndNotes) {
  CaseResult predicted = make_result();
  predicted.time_source = "virtual";
  predicted.notes = {"uncalibrated"};
  predicted.exact = false;
  predicted.approximations = {"stale"};
  CaseResult failed;
  failed.status = "out_of_memory";
  failed.reason = "rank 0 is out of memory";
  const std::string text =
      rows_table({summarise(case_json(), "chess/r2#a", make_result()), summarise(case_json(), "chess/r8#b", predicted),
                  summarise(case_json(), "chess/r9#c", failed)});
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 8u) << text;
  for (const char* title :
       {"case", "epoch", "compute %", "communicate %", "wait %", "sent", "max/mean busy", "loss", "exact", "notes"}) {
    EXPECT_NE(all[0].find(title), std::string::npos) << title;
  }
  EXPECT_EQ(all[0].find("transfer"), std::string::npos) << "a phase that is zero everywhere";
  for (const char* cell : {"chess/r2#a", "1 s", "49.9", "30.0", "20.1", "248 B", "1.07", "0.5", "yes"}) {
    EXPECT_NE(all[2].find(cell), std::string::npos) << cell << " in " << all[2];
  }
  EXPECT_NE(all[3].find("stale"), std::string::npos);
  EXPECT_TRUE(all[3].ends_with("1,2")) << all[3];
  EXPECT_TRUE(all[4].ends_with("3")) << all[4];
  EXPECT_EQ(all[5], "1: predicted");
  EXPECT_EQ(all[6], "2: uncalibrated");
  EXPECT_EQ(all[7], "3: out_of_memory: rank 0 is out of memory");
}

TEST(SummaryTable, SaysWhichRowsMissedTheirGoal) {
  CaseResult reached = make_result(), missed = make_result();
  reached.until = {true, 4, 0.5}, missed.until = {false, 9, 1.5};
  Json json = case_json();
  json["until"] = "auc=0.9";
  const std::vector<Row> rows{summarise(json, "a", reached), summarise(json, "b", missed)};
  const std::string text = rows_table(rows);
  EXPECT_NE(text.find("1: auc=0.9 was not reached; `until` is the time of all updates\n"), std::string::npos) << text;
  EXPECT_EQ(rows_table({rows[0]}).find("not reached"), std::string::npos);
}

TEST(CsvForPeople, GuardsTextThatASpreadsheetWouldRun) {
  for (const std::string text : {"=1+1", "+1.csv", "-2+3", "@SUM(1).csv", "\tx", "'=1", "=cmd|' -C calc'!A1.csv"}) {
    const std::string cell = csv_for_people(text);
    EXPECT_EQ(cell, "'" + text);
    EXPECT_EQ(text_of_cell(cell), text);
  }
  EXPECT_EQ(csv_for_people("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
  EXPECT_EQ(csv_for_people("\r=1"), "\"'\r=1\"");
  for (const std::string text : {"", "-", "-0.5", "+1", "-1e-300", "-inf", "chess", "'s graph", "a=b", "'"}) {
    EXPECT_EQ(csv_for_people(text), text);
    EXPECT_EQ(text_of_cell(text), text);
  }
}

TEST(CsvForPeople, IsInTablesOfRows) {
  TextTable table({{"=title"}, {"x", true}});
  table.add({"@name", "-2"});
  EXPECT_EQ(table.in(TableFormat::csv), "'=title,x\r\n'@name,-2\r\n");
}

}  // namespace
}  // namespace strobe
