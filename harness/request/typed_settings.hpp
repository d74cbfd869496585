// What the command line says about cases, as the settings that a suite is expanded with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

/// Settings of "--set PATH=VALUE" options. Throws InvalidRequest("--set") for one that is not PATH=VALUE.
std::vector<Setting> set_settings(const std::vector<std::string>& sets);

/// Settings of plug-ins ("NAME:key=value,..." by slot), of scalar flags by field name, and of --set options, in this
/// order. Throws InvalidRequest with the option for what is not in that form.
std::vector<Setting> typed_settings(const std::map<std::string, std::string>& plugins,
                                    const std::map<std::string, std::string>& scalars,
                                    const std::vector<std::string>& sets);

}  // namespace strobe
