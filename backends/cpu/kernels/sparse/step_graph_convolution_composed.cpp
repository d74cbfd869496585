// Graph convolution with one weight per step in two operations (backends/matrix/composed_step_convolution.hpp): the
// judge, and what serves where step_graph_convolution_paired.cpp does not.
#include "backends/matrix/composed_step_convolution.hpp"

namespace strobe {
namespace {

const RegisterComposed<StepGraphConvolution> step_convolution{"cpu"};
const RegisterComposed<StepGraphConvolutionBackward> step_convolution_backward{"cpu"};
// step_convolution_of_dense_vector.cpp serves every real call of these; they exist as its judges.
const RegisterComposedJudge<StepConvolutionOfDense> of_dense{"cpu"};
const RegisterComposedJudge<StepConvolutionOfDenseBackward> of_dense_backward{"cpu"};

}  // namespace
}  // namespace strobe
