// Quantities of rows that tables show, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The unit of a column of numbers.
enum class ColumnUnit : std::uint8_t { none, seconds, bytes };

/// A quantity: `number` is NaN and `word` empty where a row has none. One of the two functions is set.
struct RowColumn {
  std::string name;   // "epoch", "loss", "auc": what --columns and --sort take
  std::string title;  // above it in a table for people
  std::string key;    // in CSV, with its unit: "epoch_seconds"
  std::function<double(const Row&)> number;
  std::function<std::string(const Row&)> word;
  std::function<std::string(double)> shown;  // of a number, with its unit
  ColumnUnit unit = ColumnUnit::none;
};

/// Every quantity that one of the rows has: times, shares of phases, bytes, memory, loss and metrics at the end of
/// training, throughput, dollars, and words about the case. The title gives the number of samples of a metric, or a
/// column NAME.n does where rows differ.
std::vector<RowColumn> row_columns(const std::vector<Row>& rows);

/// The names of the columns that a table shows by default: epoch, band of a prediction, phases that are not zero
/// everywhere, bytes sent, imbalance, loss, the two first metrics of rows, exact.
std::vector<std::string> usual_columns(const std::vector<Row>& rows);

}  // namespace strobe
