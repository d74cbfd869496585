// The text of `strobe list KIND`, from the same JSON that --json prints.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Every entry with description, source, sizes, parameters and presets.
std::string listed_text(const Json& entries);

}  // namespace strobe
