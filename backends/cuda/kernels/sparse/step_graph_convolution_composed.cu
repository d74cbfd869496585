// Graph convolution with one weight per step in two operations (backends/matrix/composed_step_convolution.hpp), each by
// its best kernel or the plain one.
#include "backends/matrix/composed_step_convolution.hpp"

namespace strobe::cuda {
namespace step_graph_convolution_kernels {

const RegisterComposed<StepGraphConvolution> step_convolution{"cuda"};
const RegisterComposed<StepGraphConvolutionBackward> step_convolution_backward{"cuda"};
const RegisterComposed<StepConvolutionOfDense> of_dense{"cuda"};
const RegisterComposed<StepConvolutionOfDenseBackward> of_dense_backward{"cuda"};

}  // namespace step_graph_convolution_kernels
}  // namespace strobe::cuda
