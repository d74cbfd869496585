// Differentiable operations of networks whose weights evolve over time (EvolveGCN: Pareja et al., AAAI'20).
#pragma once

#include "backends/operations/operations_evolve.hpp"
#include "models/tape/pass.hpp"

namespace strobe {

/// activation(x_r w_t) for the rows r of each step t: x [R, F], w [T * F, G], step_rows i64 [T + 1, 1] on the device.
Var step_dense(Tape& tape, const Var& x, const Var& w, const Tensor& step_rows, Activation activation);

/// activation((A x)_r w_t) for the rows r of each step t: x [C, F], w [T * F, G].
Var step_graph_convolution(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, const Tensor& step_rows,
                           Activation activation);

/// Whether a dense layer of x is so cheap that a sparse product computes it again for every entry (spmm_of_dense):
/// x has few columns and needs no gradient.
bool cheap_to_repeat(const Var& x);
/// The same of features, `columns` of them.
bool cheap_to_repeat(std::int64_t columns);

/// A activation(x w + bias) of an x [C, F] that is cheap to repeat, without a tensor of the layer's output; the
/// backward pass reads A, not its transpose. `bias` may be null. Where `step_rows` is defined the layer has one weight
/// per step as in step_dense, and A has entries within steps only.
Var spmm_of_dense(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, const Var& bias,
                  const Tensor& step_rows, Activation activation);

/// activation((A h)_r w_t) for the rows r of each step t, h = first(x w_first) of an x that is cheap to repeat: w_first
/// [T * F, G], w [T * G, H]. A has entries within steps only.
Var step_convolution_of_dense(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w_first, Activation first,
                              const Var& w, const Tensor& step_rows, Activation activation);

/// Leaves of one layer's evolution: wx, wh [gates * F, F], bias [gates * F, G], start [F, G].
struct EvolutionWeights {
  Var wx, wh, bias, start;
};

/// Where an evolution begins and ends. `state` is what the steps before left (null at step 0). `next` (may be null)
/// receives what later steps start from. A state is the last weights [F, G], with an LSTM's cell state [F, G] below
/// them.
struct EvolutionState {
  Var state;
  Var* next = nullptr;
};

/// The layer's weights of all steps [T * F, G]. Each step's input is the transpose of G rows of `summary` [T * G, F],
/// or the weights of the step before when it is null. `detached` cuts the gradient between steps.
Var evolve_weights(Tape& tape, const EvolutionWeights& leaves, const Var& summary, std::int64_t steps, EvolveCell cell,
                   bool detached, const EvolutionState& state = {});

/// The rows of a summary. Without `w` they are those of x [own rows, F]. With w [T * F, G] they are activation(x_r
/// w_t), for an x that is cheap to repeat, and no tensor of all of them is made.
struct ChoiceRows {
  Var x;
  Var w = nullptr;
  Activation activation = Activation::none;
};

/// This rank's rows among the k best vertices of each step over all ranks, by the score x . direction / |direction| of
/// rows `from`: i64 [T * k, 1]. An entry is -1 where another rank holds the vertex or no rank has one. With
/// `only_connected`, rows of the input's A~ without another vertex are left out. Not differentiable; every rank must
/// call it.
Tensor choose_rows(Tape& tape, const SpatialInput& input, const ChoiceRows& from, const Tensor& direction,
                   std::int64_t k, bool only_connected);

/// x_r tanh(x_r . direction / |direction|) for the rows r of `chosen`, zero for -1: [T * k, F]. Without `gated`, x_r.
Var summarise_rows(Tape& tape, const ChoiceRows& from, const Var& direction, const Tensor& chosen, bool gated);

}  // namespace strobe
