// The settings in which rows differ, by dotted keys, and rows gathered by them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The settings of the row's case as text: "strategy" is a plug-in's name, "strategy.partitioner" a parameter, "ranks",
/// "nb" and the other scalars by their names; "time_source" as well.
std::map<std::string, std::string> case_keys_of(const Row& row);

/// The keys for which rows have more than one value: plug-ins first, then scalars, then parameters. A parameter counts
/// only among rows of the same plug-in, since others have no parameter of that name. Keys that follow from another
/// varied key (comm and numerics from device) are left out.
std::vector<std::string> varied_keys(const std::vector<Row>& rows);

/// Rows that become one line of a table.
struct RowGroup {
  std::vector<const Row*> rows;
  std::map<std::string, std::string> keys;  // of its first row
};

/// The rows by the values of `keys`, in order of first appearance.
std::vector<RowGroup> group_rows(const std::vector<Row>& rows, const std::vector<std::string>& keys);

/// Mean and standard deviation (n - 1) of the existing values; NaN where there are none.
struct Spread {
  double mean = std::numeric_limits<double>::quiet_NaN(), deviation = 0;
  std::size_t n = 0;
};
/// With `interval`, half the 95 % interval of the mean (Student's t) takes the place of the deviation.
Spread spread_of(const std::vector<double>& values, bool interval = false);
/// Names the deviation of such a spread.
const char* spread_words(bool interval);

}  // namespace strobe
