// Settings of a case that a search decides in addition to strategy and cluster: those whose field lists values to try.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// A setting that the user left open, with the values to try. The first value is the default.
struct OpenSetting {
  std::string name;
  std::vector<std::string> values;
};

/// The part of an epoch that another value of a setting may remove. A simulated epoch without that part bounds the
/// others from below.
enum class Shortens : std::uint8_t { anything, copies, exchanges };

/// `inputs` and `transfer` may remove copies to the device; `overlap` may overlap exchanges with compute. Any other
/// setting may change anything: no epoch bounds it, so it is tried in every combination.
Shortens shortened_by(const std::string& setting);

/// All settings with values to try, in cases of full-batch training or of other kinds. `sizes_only`: for a shape.
std::vector<OpenSetting> searched_settings(bool full_batch, bool sizes_only);

}  // namespace strobe
