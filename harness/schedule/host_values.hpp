// Vectors between the host, where they are doubles, and a device, where they have its precision.
#pragma once

#include <vector>

#include "backends/device.hpp"

namespace strobe {

/// A tensor's values on the host: empty without values, but moved out all the same, because the program, and so virtual
/// time, must be the same.
std::vector<double> host_values(Device& device, const Tensor& tensor);

/// Host values as a vector [n, 1] in the device's precision; undefined when there are none.
Tensor vector_on(Device& device, const std::vector<double>& values);

}  // namespace strobe
