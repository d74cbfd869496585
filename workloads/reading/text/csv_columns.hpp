// Which columns of a csv with a header are read: the source, the target, the time or step, and the weight.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// Where the columns of events stand among those of a csv. Returned by `find_csv_columns`.
struct CsvColumns {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t source = none, target = none, time = none, weight = none;
  bool stepped = false;              // the time is a step
  std::size_t count = 0;             // of the file
  std::vector<std::string> ignored;  // names of the others
  bool found() const { return source != none && target != none && time != none; }
  /// As Strobe writes them: source, target, time or step, weight, and nothing else.
  bool plain() const { return source == 0 && target == 1 && time == 2 && count == (weight == none ? 3U : 4U); }
};

/// The names of a csv's header: quotes around them and blanks are left out.
std::vector<std::string> csv_header_names(std::string_view line);

/// "source:from/target:to/time:when" as {"source": "from", ...}: roles are source, target, time, step and weight; a
/// role that is not named is called like itself. Commas separate as well as slashes do. Throws InvalidRequest(where,
/// ...) for an unknown role, one given twice, an empty name, and both time and step.
std::map<std::string, std::string> column_names(const std::string& columns, const std::string& where);

/// The columns of a header. A weight is read where `names` or the header has one; of `time` and `step` the one that is
/// there, and `time` where both are. What is not there stays `none`.
CsvColumns find_csv_columns(const std::vector<std::string>& header, const std::map<std::string, std::string>& names);

/// Throws InvalidInput at the header for a column that is needed or named and not there, and for a name that stands
/// there twice.
void require_csv_columns(const std::string& path, const std::vector<std::string>& header, const CsvColumns& columns,
                         const std::map<std::string, std::string>& names);

/// What a report says of the columns that are not read; "" when there are none.
std::string ignored_columns_note(const CsvColumns& columns);

}  // namespace strobe
