// Turns the command line's options about cases into the settings that expand a suite.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

/// Settings of "--set PATH=VALUE" options. Throws InvalidRequest("--set") for one that is not PATH=VALUE.
std::vector<Setting> set_settings(const std::vector<std::string>& sets);

/// Settings of plug-ins ("NAME:key=value,..." by slot), of scalar flags by field name, and of --set options, in this
/// order. Throws InvalidRequest that names the option for malformed text.
std::vector<Setting> typed_settings(const std::map<std::string, std::string>& plugins,
                                    const std::map<std::string, std::string>& scalars,
                                    const std::vector<std::string>& sets);

/// Adds the sizes of the model's paper (preset "paper") to the settings, if the model has such a preset and the
/// settings choose neither a preset nor a width.
void add_paper_sizes(std::vector<Setting>& settings);

}  // namespace strobe
