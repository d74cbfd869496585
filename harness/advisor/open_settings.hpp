// Settings of a case that a search decides beside strategy and cluster: those whose field says which values to try.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// A setting that the user left open, with the values that are tried; the first is what a case has without it.
struct OpenSetting {
  std::string name;
  std::vector<std::string> values;
};

/// What of an epoch other values of a setting may do away with, so that a simulated epoch bounds theirs from below.
enum class Shortens : std::uint8_t { anything, copies, exchanges };

/// Of `inputs` and `transfer` copies to the device, of `overlap` exchanges that compute hides. Of a setting that is not
/// known here anything: no epoch bounds it, and it is tried in every combination.
Shortens shortened_by(const std::string& setting);

/// All settings with values to try in cases of full-batch training, or of other kinds. `sizes_only`: of a shape.
std::vector<OpenSetting> searched_settings(bool full_batch, bool sizes_only);

}  // namespace strobe
