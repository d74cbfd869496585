// The meaning of a column's name.
#pragma once

#include <string_view>

namespace strobe {

enum class ColumnRole { none, source, target, time, step, weight, label, feature, relation, counter };

/// "source", "target" and so on; "not read" for `none` and `counter`.
const char* role_name(ColumnRole role);

struct ColumnWord {
  ColumnRole role = ColumnRole::none;
  bool sure = false;   // the word means nothing else: source, dst, timestamp; not: user, value, date_of_birth
  bool actor = false;  // it names somebody who acts: user, customer
  bool thing = false;  // it names the object of an action: item, product
};

/// Reads a name in any case, with or without _ and blanks, and with a final "id": USERID, Target_Subreddit, ts.
ColumnWord read_column_word(std::string_view name);

}  // namespace strobe
