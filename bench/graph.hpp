// The synthetic dynamic graph of the benchmarks: T snapshots of N vertices with density f (f N random edges per step),
// smoothed over a window of w steps (the union of the last w snapshots, as the M-transform of A leaves it) with the
// diagonal added: about 16.3 million non-zeros for T = 64, N = 16384, f = 3, w = 5.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/device.hpp"

namespace strobe::bench {

struct GraphSize {
  std::int64_t steps = 64;
  std::int64_t vertices = 16384;
  std::int64_t density = 3;
  std::int64_t window = 5;
};

/// Block-diagonal CSR [T N, T N] on the host, rows sorted, values 1 / (row's non-zeros).
struct HostMatrix {
  std::int64_t rows = 0, steps = 0, step_rows = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<float> values;
};

/// The same matrix for the same size, always.
HostMatrix make_graph(const GraphSize& size);

/// The standard graph (T = 64, N = 16384, f = 3, w = 5), made once.
const HostMatrix& standard_graph();

/// The wide graph (T = 32, N = 4096, f = 8, w = 5), made once.
const HostMatrix& wide_graph();

/// Step `step` alone, its columns counted from the step's first vertex; with `turned` its transpose.
HostMatrix one_step(const HostMatrix& host, std::int64_t step, bool turned);

/// `host` on the device in fp32, with its transpose and the forms of both for narrow products when asked for.
SparseMatrix upload(Device& device, const HostMatrix& host, bool with_transpose, bool with_forms);

}  // namespace strobe::bench
