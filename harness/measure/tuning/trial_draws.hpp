// Random search (Bergstra and Bengio, JMLR 13, 2012): which settings of a case are open, and their values in each
// trial. The draws of one setting are the same for every model and optimizer that has it, so families get the same
// chances.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// A setting of a case's model or optimizer whose table states values to try (Field::searched).
struct OpenSettingOfTrial {
  std::string slot, field;  // "model", "hidden"
  FieldType type = FieldType::text;
  std::vector<std::string> values;  // one text LOW..HIGH is a range, drawn uniformly by its logarithm

  std::string path() const { return slot + "." + field; }
};

/// The settings of the case that are open: those that `is_given` does not name by slot and field.
std::vector<OpenSettingOfTrial> open_settings_of(const Case& c,
                                                 const std::function<bool(const OpenSettingOfTrial&)>& is_given);

/// The value of draw `number` from 0 on. Uses the number `number` of the Philox stream of the seed, the purpose 53 and
/// the first 32 bits of the SHA-256 of the path. A value from a range has three significant digits.
Json drawn_value(const OpenSettingOfTrial& setting, std::uint64_t seed, std::int64_t number);

/// The settings of `trials` trials by path. The first has the case's own values; each later one has the next draw that
/// differs from all before. So the trials of a smaller number are the first ones of a larger number. There are fewer
/// when the settings have fewer values.
std::vector<Json> trial_settings(const Case& c, const std::vector<OpenSettingOfTrial>& open, std::int64_t trials);

/// `c` with these settings, by path. Throws InvalidRequest.
Case with_settings(const Case& c, const Json& settings);

}  // namespace strobe
