// Graph convolution with one weight per step in two operations (backends/matrix/composed_step_convolution.hpp), each by
// its best kernel or the plain one.
#include "backends/matrix/composed_step_convolution.hpp"

namespace strobe::cuda {
namespace step_graph_convolution_kernels {

const RegisterComposed<StepGraphConvolution, Numerics::cuda> step_convolution;
const RegisterComposed<StepGraphConvolutionBackward, Numerics::cuda> step_convolution_backward;
const RegisterComposed<StepConvolutionOfDense, Numerics::cuda> of_dense;
const RegisterComposed<StepConvolutionOfDenseBackward, Numerics::cuda> of_dense_backward;

}  // namespace step_graph_convolution_kernels
}  // namespace strobe::cuda
