// Compares configurations: cases that differ in one field only, the fastest first, with the reasons.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/compare/compare.hpp"

namespace strobe {

/// One case of a group.
struct GroupMember {
  std::string value;  // of the field, as typed
  std::string case_id;
  std::string run;  // its folder
  double seconds = std::numeric_limits<double>::quiet_NaN();
  Comparison slower;                                                // its time over that of the group's fastest
  double until_seconds = std::numeric_limits<double>::quiet_NaN();  // to the metric, where the case asks for one
  std::string note;
};

struct CaseGroup {
  std::vector<std::string> common;   // settings of its cases that differ from other groups, such as "ranks 2"
  std::vector<GroupMember> members;  // the fastest first; those without a time last
  std::string best;                  // in words: which is best, or that several cannot be told apart
  std::string why;                   // phases and bytes that make the difference; "" where there is none
};

/// A case that no other differs from in the field alone.
struct UnpairedCase {
  std::string case_id;
  std::string nearest;  // in words
};

struct ByReport {
  std::string field;
  std::vector<CaseGroup> groups;
  std::vector<UnpairedCase> alone;
};

/// Groups the rows of one or more runs by `field` ("strategy", "kernels", "model.hidden"). Throws
/// InvalidRequest("--by") for a field that cases do not have. Throws NotComparable where no two cases differ in it
/// alone, or where wall times of different machines meet in a group (unless allowed).
ByReport compare_by(const std::vector<std::string>& runs, const std::string& field, const CompareOptions& options = {});

Json by_to_json(const ByReport& report);
std::string by_text(const ByReport& report);

}  // namespace strobe
