// Moves vectors between the host and a device. The host holds doubles; the device holds its own precision.
#pragma once

#include <vector>

#include "backends/device.hpp"

namespace strobe {

/// Returns a tensor's values on the host, or an empty vector when the device computes no values. The device runs the
/// move in both cases, because the program, and with it virtual time, must be the same.
std::vector<double> host_values(Device& device, const Tensor& tensor);

/// Moves host values to the device as a vector [n, 1] in its precision. The tensor is undefined when there are none.
Tensor vector_on(Device& device, const std::vector<double>& values);

}  // namespace strobe
