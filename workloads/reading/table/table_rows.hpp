// Rows of a text table become events: of csv, and of tables whose columns were found by looking at them.
#pragma once

#include <string>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/table/column_facts.hpp"
#include "workloads/reading/text/csv_columns.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {

/// The layout of the rows.
struct TableRows {
  CsvColumns columns;
  bool named = false, dated = false;  // vertices are names; times are dates
  bool two_sided = false;             // sources and targets are of two kinds
  std::string separator = ",";        // as QuotedCsv takes it
  std::string comment;                // lines that begin with it are refused; "" = none
  TimeUnit unit = TimeUnit::seconds;
};

/// Reads all lines after the reader's current one. Throws InvalidInput at the first bad one.
EventGraph read_table_rows(TextReader& reader, const TableRows& layout, const std::string& format);

}  // namespace strobe
