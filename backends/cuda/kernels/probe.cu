// Whether this program holds code for the GPU: asked once, with a kernel that does nothing, so that a wrong build is
// refused before anything was trained.
#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/runtime.hpp"

namespace strobe::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

void runtime::check_architecture() { launch(KernelContext{}, 1, 1, 0, nothing); }

}  // namespace strobe::cuda
