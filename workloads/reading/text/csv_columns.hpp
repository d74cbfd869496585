// Which columns of a csv with a header are read: the source, the target, the time or step, and the weight.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// The positions of the event columns among the columns of a csv. Returned by `find_csv_columns`.
struct CsvColumns {
  static constexpr std::size_t none = -1;
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

/// The columns of a header. A weight is read where `names` or the header has one. One of `time` and `step` is read: the
/// one that is there, and `time` where both are. A missing column stays `none`.
CsvColumns find_csv_columns(const std::vector<std::string>& header, const std::map<std::string, std::string>& names);

/// Throws InvalidInput at the header when a needed or named column is missing, and when a name occurs there twice.
void require_csv_columns(const std::string& path, const std::vector<std::string>& header, const CsvColumns& columns,
                         const std::map<std::string, std::string>& names);

/// The note for columns that are not read; "" when there are none.
std::string ignored_columns_note(const CsvColumns& columns);

}  // namespace strobe
