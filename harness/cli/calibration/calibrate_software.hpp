// `strobe calibrate --software`: measures what a framework takes on this machine and writes it as a software profile.
#pragma once

#include <string>

namespace strobe {

/// Measures the framework `framework` ("pytorch") with its own Python and writes a profile for --software to `out`
/// ("" = NAME.json, and without a name pytorch-here.json). Prints the profile with `json`, else one line for each
/// number. Returns the exit status. Throws InvalidRequest for an unknown framework, and Unavailable where it or the
/// source tree is missing.
int calibrate_software(const std::string& framework, const std::string& name, const std::string& out, bool quick,
                       bool json);

}  // namespace strobe
