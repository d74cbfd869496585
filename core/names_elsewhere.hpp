// Names that the field uses and Strobe does not: what they are called here, or that they are not here.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// `here`: the name under which Strobe has it; "" where it has no such thing. `about`: words that follow the name.
struct NameElsewhere {
  const char* kind;  // as Registry names it: "model", "strategy"; or "key"
  const char* name;
  const char* here;
  const char* about;
};

/// The table. Names are compared without capitals, blanks, '-' and '_'.
const std::vector<NameElsewhere>& names_elsewhere();

/// Letters and digits of a name, small: what two spellings of it have in common.
std::string plain_name(const std::string& name);

/// The entry of a name of that kind, null where there is none.
const NameElsewhere* name_elsewhere(const std::string& kind, const std::string& name);

}  // namespace strobe
