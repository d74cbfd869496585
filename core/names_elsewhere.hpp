// Names that the field uses and Strobe does not. A plug-in registers those for which it is the answer, in its own file;
// a message about an unknown name then says what it is called here, or that it is not here.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace strobe {

/// `here`: Strobe's name for it; "" when Strobe has no such thing. `about`: words that follow the name.
struct NameElsewhere {
  const char* kind;  // as Registry names it: "model", "strategy"; or "key"
  const char* name;
  const char* here;
  const char* about;
};

/// One name as a plug-in registers it.
struct NameOfOthers {
  const char* name;
  const char* here;   // as in NameElsewhere
  const char* about;  // as in NameElsewhere
};

/// Adds names of one kind to the table. A namespace-scope constant of a plug-in's file.
struct RegisterNames {
  RegisterNames(const char* kind, std::initializer_list<NameOfOthers> names);
};

/// The table, in no order. Names are compared without capitals, blanks, '-' and '_'.
const std::vector<NameElsewhere>& names_elsewhere();

/// The letters and digits of a name in lower case, which two spellings of it have in common.
std::string plain_name(const std::string& name);

/// The entry for a name of that kind; null when there is none.
const NameElsewhere* name_elsewhere(const std::string& kind, const std::string& name);

}  // namespace strobe
