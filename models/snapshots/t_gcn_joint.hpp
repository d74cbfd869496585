// T-GCN whose convolution reads features and state together.
#pragma once

#include <memory>

#include "models/snapshots/model.hpp"

namespace strobe {

/// [r, u] = sigmoid(A~ [x, h] W_g + b_g), c = tanh(A~ [x, r h] W_c + b_c), h' = u h + (1 - u) c. This is the form of
/// the authors' code (lehaifeng/T-GCN and its PyTorch port). There b_g starts at 1; here it starts at `bias`.
std::unique_ptr<Model> make_joint_t_gcn(std::int64_t hidden, double bias);

}  // namespace strobe
