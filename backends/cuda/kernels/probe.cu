// Whether this program holds code for the GPU: asked once, with a kernel that does nothing, so that a wrong build is
// refused before anything was trained.
#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/runtime.hpp"

namespace strobe::cuda {
namespace probe_kernels {

__global__ void nothing() {}

}  // namespace probe_kernels

void runtime::check_architecture() { launch(KernelContext{}, 1, 1, 0, probe_kernels::nothing); }

}  // namespace strobe::cuda
