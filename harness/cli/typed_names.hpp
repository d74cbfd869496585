// Names of plug-ins as users type them in options that take several.
#pragma once

#include <string>
#include <vector>

#include "harness/request/option_text.hpp"

namespace strobe {

/// Names from several options or separated by commas, with or without parameters: "a,b:key=value,key=value,c". "all"
/// means all names; the result is then empty.
inline std::vector<std::string> typed_names(const std::vector<std::string>& typed) {
  std::vector<std::string> names;
  for (const std::string& text : typed) {
    bool takes_parameters = false;  // the last name has a colon, so that key=value belongs to it
    for (const std::string& part : split_text(text, ',')) {
      if (part == "all") return {};
      if (takes_parameters && part.find('=') != std::string::npos && part.find(':') == std::string::npos) {
        names.back() += "," + part;
        continue;
      }
      names.push_back(part);
      takes_parameters = part.find(':') != std::string::npos;
    }
  }
  return names;
}

}  // namespace strobe
