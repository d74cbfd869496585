// The kind of cells in a column, from a sample of rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace strobe {

/// A finite number, written in any way, or a date (date_time.hpp).
bool is_number_or_date(std::string_view cell);

/// The unit of numbers in a time column: seconds since 1970 or a part of them. Larger units would exceed year 9999.
enum class TimeUnit { seconds, milliseconds, microseconds, nanoseconds };

struct ColumnFacts {
  bool whole = true;    // every cell is a whole number that is not negative, in digits alone
  bool numeric = true;  // every cell is a finite number
  bool dates = true;    // every cell is a date such as 2020-01-31 12:00
  bool clock = true;    // every cell is a time of day such as 12:00:01
  bool empty_cells = false;
  bool ascending = true;       // numbers or dates do not decrease
  bool counter = true;         // 0, 1, 2, ... or from another number on
  double least = 0, most = 0;  // of numbers; of dates in seconds
  std::unordered_set<std::string> distinct;

  bool value() const { return numeric || dates; }
  /// The unit, from the sizes of whole numbers.
  TimeUnit unit = TimeUnit::seconds;
  /// Numbers that are times since 1970 and hardly anything else: from 1973 to 2100.
  bool epoch = false;
};

/// The facts of column `column` of `rows`, which are not empty.
ColumnFacts facts_of(const std::vector<std::vector<std::string>>& rows, std::size_t column);

/// How likely the ids of `a` and `b` are of one kind: the share of their distinct cells that both have.
double shared_share(const ColumnFacts& a, const ColumnFacts& b);

/// Whether this number of shared cells cannot be chance: names, or numbers that use few of the numbers in their range.
bool shares_beyond_chance(const ColumnFacts& a, const ColumnFacts& b);

}  // namespace strobe
