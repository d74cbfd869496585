// The places of a case that plug-ins fill. Completion, --set, flags and listings loop over this table, because they
// treat workload, model, strategy, task and optimizer alike.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/request/case.hpp"

namespace strobe {

struct CaseSlot {
  std::string name;            // key in a case's JSON and name of its flag
  std::string default_plugin;  // used when the case does not choose; "" = the case must choose
  Json Case::*member;          // the case's member for the completed object
  /// Parameters of the plug-in called `plugin`. Throws InvalidRequest(where, ...) when there is none of that name.
  FieldTable (*fields)(const std::string& plugin, const std::string& where);
  /// The plug-in's parameters completed with defaults and checked; errors carry the JSON pointer `pointer + "/" + key`.
  Json (*complete)(const std::string& plugin, const Json& values, const std::string& pointer);
  /// Names to choose from; a workload may also be the path of a file.
  std::vector<std::string> (*names)();
};

/// The slots in the order of a case's canonical JSON.
const std::vector<CaseSlot>& case_slots();

/// The slot called `name`, or null.
const CaseSlot* find_case_slot(const std::string& name);

}  // namespace strobe
