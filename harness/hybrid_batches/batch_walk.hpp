// One pass over a hybrid batch on a rank's device: forward, loss, backward.
#pragma once

#include "harness/hybrid_batches/batch_inputs.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"
#include "models/tape/parameters.hpp"

namespace strobe {

/// Adds the batch's losses times `scale` to `loss` (f64 [1, 1]) and the gradients of the parameters to theirs. If
/// the pass does not train, there are no gradients.
void train_batch(Device& device, const HybridPlan& plan, const HybridBatch& batch, const Parameters& parameters,
                 const Pass& pass, double scale, const Tensor& loss);

}  // namespace strobe
