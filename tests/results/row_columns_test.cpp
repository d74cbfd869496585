// Tables of rows: columns of what was varied, means and spread, notes that all rows share, formats and widths.
#include "results/row/row_columns.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <random>

#include "core/errors.hpp"
#include "results/row/row_groups.hpp"
#include "results/row/shared_notes.hpp"
#include "results/row/table.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using Names = std::vector<std::string>;

Row row_of(const std::string& strategy, std::int64_t ranks, std::int64_t seed, double seconds,
           const std::string& partitioner = "") {
  Json json = case_json(ranks, strategy);
  json["seed"] = seed;
  if (!partitioner.empty()) json["strategy"]["partitioner"] = partitioner;
  Row row = row_of_median(json, fmt::format("chess/{}/r{}#{}", strategy, ranks, seed), "ok", "", seconds, "not asked");
  row.notes.clear();
  return row;
}

Names lines_of(const std::string& text) {
  std::istringstream stream(text);
  Names lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(VariedKeys, AreThoseThatRowsDifferIn) {
  EXPECT_EQ(
      varied_keys({row_of("snapshot", 2, 1, 1), row_of("vertex", 2, 1, 1, "hash"), row_of("vertex", 2, 1, 1, "metis")}),
      (Names{"strategy", "strategy.partitioner"}));
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1), row_of("vertex", 2, 1, 1, "hash")}), (Names{"strategy"}))
      << "a parameter that one plug-in alone has is not varied";
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1), row_of("snapshot", 4, 2, 1)}), (Names{"ranks", "seed"}));
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1)}), Names{});
}

TEST(Spreads, AreThoseOfTwoPasses) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(1e6, 1);
  for (int n = 1; n < 30; ++n) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(normal(random));
    long double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double a : values)
      for (const double b : values) squares += (static_cast<long double>(a) - b) * (static_cast<long double>(a) - b);
    values.push_back(std::nan(""));  // not there
    const Spread spread = spread_of(values);
    EXPECT_EQ(spread.n, static_cast<std::size_t>(n));
    EXPECT_NEAR(spread.mean, static_cast<double>(sum / n), 1e-8);
    // Half the mean squared difference of pairs is the variance.
    const double variance = n > 1 ? static_cast<double>(squares / (2.0L * n * (n - 1))) : 0;
    EXPECT_NEAR(spread.deviation, std::sqrt(variance), 1e-6);
  }
  EXPECT_TRUE(std::isnan(spread_of({}).mean));
}

TEST(RowColumns, MetricsSayHowManySamplesTheyHave) {
  std::vector<Row> rows{row_of("vertex", 2, 1, 1), row_of("vertex", 2, 2, 1), row_of("vertex", 2, 3, 1)};
  for (Row& row : rows) row.metrics["auc"] = std::vector<double>{0.5, 0.75};
  rows[0].metric_samples["auc"] = 10;
  const auto column = [&](const std::string& name) {
    for (const RowColumn& each : row_columns(rows))
      if (each.name == name) return each;
    throw Error("no column " + name);
  };
  EXPECT_EQ(column("auc").title, "auc (n=10)") << "those that say it agree";
  rows[1].metric_samples["auc"] = 20;
  EXPECT_EQ(column("auc").title, "auc");
  EXPECT_EQ(column("auc").number(rows[0]), 0.75);
  EXPECT_EQ(column("auc.n").number(rows[0]), 10);
  EXPECT_EQ(column("auc.n").number(rows[1]), 20);
  EXPECT_TRUE(std::isnan(column("auc.n").number(rows[2])));
}

TEST(RowsTable, NamesTheVariedKeys) {
  const std::vector<Row> rows{row_of("vertex", 2, 1, 3e-3, "range"), row_of("vertex", 2, 1, 1e-3, "metis")};
  const Names lines = lines_of(rows_table(rows));
  EXPECT_NE(lines[0].find("partitioner"), std::string::npos);
  EXPECT_NE(lines[2].find("range"), std::string::npos);
  EXPECT_NE(lines[3].find("metis"), std::string::npos);
  TableOptions sorted;
  sorted.sort = "epoch";
  EXPECT_NE(lines_of(rows_table(rows, sorted))[2].find("metis"), std::string::npos);
  sorted.sort = "-epoch";
  EXPECT_NE(lines_of(rows_table(rows, sorted))[2].find("range"), std::string::npos);
}

TEST(RowsTable, SeedsShareALineWithMeanAndSpread) {
  std::vector<Row> rows;
  for (const double seconds : {1e-3, 2e-3, 3e-3})
    rows.push_back(row_of("vertex", 2, static_cast<std::int64_t>(rows.size()) + 1, seconds));
  rows.push_back(row_of("snapshot", 2, 1, 5e-3));
  const std::string text = rows_table(rows);
  EXPECT_EQ(lines_of(text).size(), 5u) << text;
  EXPECT_NE(text.find("2 ms ± 1 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("mean ± standard deviation over seed"), std::string::npos) << text;
  TableOptions csv;
  csv.format = TableFormat::csv;
  csv.columns = {"strategy", "rows", "epoch"};
  EXPECT_EQ(rows_table(rows, csv),
            "strategy,rows,epoch_seconds,epoch_seconds_sd\r\nvertex,3,0.002,0.001\r\n"
            "snapshot,1,0.005,\r\n");
}

TEST(RowsTable, ByGathersOverEverythingElse) {
  std::vector<Row> rows;
  for (const std::int64_t ranks : {1, 2, 4})
    for (const std::int64_t seed : {1, 2})
      rows.push_back(row_of("vertex", ranks, seed, 1e-3 * static_cast<double>(ranks)));
  TableOptions requests;
  requests.by = {"ranks"};
  requests.columns = {"ranks", "rows", "epoch"};
  requests.format = TableFormat::csv;
  EXPECT_EQ(rows_table(rows, requests),
            "ranks,rows,epoch_seconds,epoch_seconds_sd\r\n1,2,0.001,0\r\n2,2,0.002,0\r\n"
            "4,2,0.004,0\r\n");
  for (const char* name : {"rank", "epochh"}) {
    TableOptions wrong;
    wrong.columns = {name};
    EXPECT_THROW(rows_table(rows, wrong), InvalidRequest) << name;
    wrong = {};
    wrong.sort = name;
    EXPECT_THROW(rows_table(rows, wrong), InvalidRequest) << name;
  }
  requests.by = {"rank"};
  EXPECT_THROW(rows_table(rows, requests), InvalidRequest);
}

TEST(RowsTable, NotesOfAllAppearOnceAndOthersByNumber) {
  std::vector<Row> rows{row_of("vertex", 2, 1, 1e-3), row_of("vertex", 4, 1, 1e-3)};
  rows.push_back(row_of_median(case_json(8, "vertex"), "chess/vertex/r8#1", "skipped", "too many ranks", NAN, "no"));
  for (Row& row : rows) row.notes = {"uncalibrated"};
  rows[1].notes.emplace_back("extrapolated");
  rows[2].notes.clear();
  const std::string text = rows_table(rows);
  const auto count = [&](const std::string& words) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("uncalibrated"), 1u) << text;
  EXPECT_EQ(count("all: uncalibrated"), 1u) << text;
  EXPECT_EQ(count("1: extrapolated"), 1u) << text;
  EXPECT_EQ(count("2: skipped: too many ranks"), 1u) << text;
}

TEST(RowsTable, FitsTheTerminalAndNamesLeftOutColumns) {
  std::vector<Row> rows{summarise(case_json(2, "vertex"), "chess/tm-gcn/vertex/cpu/r2#abcdef", make_result()),
                        summarise(case_json(2, "snapshot"), "chess/tm-gcn/snapshot/cpu/r2#abcdef", make_result())};
  const std::string wide = rows_table(rows);
  for (const std::size_t width : {60u, 80u, 100u}) {
    TableOptions requests;
    requests.width = width;
    const Names lines = lines_of(rows_table(rows, requests));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(lines[i].size(), width) << lines[i];
    EXPECT_NE(lines.back().find("left out, as the terminal is"), std::string::npos);
    EXPECT_NE(lines[0].find("strategy"), std::string::npos) << "what was varied stays";
    EXPECT_NE(lines[0].find("epoch"), std::string::npos);
  }
  EXPECT_NE(wide.find("chess/tm-gcn/vertex/cpu/r2#abcdef"), std::string::npos);
}

TEST(TableFormats, EscapeSpecialCharacters) {
  TextTable table({{"a_b", false}, {"n", true}});
  table.add({"x|y, \"z\" & 5%", "1 ± 2"});
  EXPECT_EQ(table.in(TableFormat::csv), "a_b,n\r\n\"x|y, \"\"z\"\" & 5%\",1 ± 2\r\n");
  EXPECT_EQ(table.in(TableFormat::markdown), "| a\\_b | n |\n| --- | ---: |\n| x\\|y, \"z\" & 5% | 1 ± 2 |\n");
  EXPECT_EQ(table.in(TableFormat::latex),
            "\\begin{tabular}{lr}\n\\toprule\na\\_b & n \\\\\n\\midrule\nx|y, \"z\" \\& 5\\% & 1 $\\pm$ 2 \\\\\n"
            "\\bottomrule\n\\end{tabular}\n");
}

TEST(RowColumns, WorkAndFactsOfAKindOfTrainingAreColumns) {
  CaseResult result = testing_results::make_result();
  result.cells_per_epoch = 60;
  result.facts.values = {{"mails_lost_share", 0.25}, {"cached_bytes", {7, 9}}};
  const Row row = summarise(testing_results::case_json(), "a#1", result);
  std::map<std::string, RowColumn> columns;
  for (const RowColumn& column : row_columns({row})) columns[column.name] = column;
  EXPECT_EQ(columns.at("cells").number(row), 60);
  EXPECT_EQ(columns.at("edges").number(row), 1000);
  EXPECT_EQ(columns.at("mails_lost_share").number(row), 0.25);
  EXPECT_EQ(columns.at("cached_bytes").word(row), "[7,9]");
  EXPECT_TRUE(std::isnan(columns.at("padded_share").number(row)));
}

}  // namespace
}  // namespace strobe
