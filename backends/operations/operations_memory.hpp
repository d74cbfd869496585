// Operations of event models that stay within a row: the encoding of a time difference, and updates of a vertex's
// memory (TGN: Rossi et al., 2020; JODIE: Kumar et al., KDD'19). R rows, h memory width, D time width. Terms are those
// of operations.hpp; time differences are of the device's precision.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// y[R, D] = cos(dt[R, 1] frequency[1, D] + phase[1, D]) (Xu et al., ICLR'20, equation 9 with learnt frequencies). The
/// argument may be millions, so it is computed and reduced in fp64, and y is right to its own precision.
struct TimeEncoding {
  static constexpr std::string_view name = "time_encoding";
  Tensor dt, frequency, phase, y;
  Work work() const {
    using namespace operations_detail;
    return {12.0 * count(y.elements()), bytes_of(dt) + 2.0 * bytes_of(frequency), bytes_of(y)};
  }
};

/// Backward of TimeEncoding: dfrequency and dphase [1, D] are added to, in an order that does not depend on the number
/// of threads. dt has no gradient.
struct TimeEncodingBackward {
  static constexpr std::string_view name = "time_encoding_backward";
  Tensor dt, frequency, phase, dy, dfrequency, dphase;
  Work work() const {
    using namespace operations_detail;
    return {16.0 * count(dy.elements()), bytes_of(dt) + bytes_of(dy) + 2.0 * bytes_of(frequency),
            2.0 * bytes_of(dfrequency)};
  }
};

/// One step of a GRU whose reset follows the product (Cho et al., 2014, like PyTorch's GRUCell): with the input's
/// and the state's products gi and gh [R, 3 h], gates r, z, n, biases included,
///   r = sigmoid(gi_r + gh_r), z = sigmoid(gi_z + gh_z), n = tanh(gi_n + r gh_n), y = (1 - z) n + z state; y [R, h].
struct GruCell {
  static constexpr std::string_view name = "gru_cell";
  Tensor gi, gh, state, y;
  Work work() const {
    using namespace operations_detail;
    return {30.0 * count(y.elements()), bytes_of(gi) + bytes_of(gh) + bytes_of(state), bytes_of(y)};
  }
};

/// Backward of GruCell; the gates are computed again. dgi and dgh [R, 3 h] are stored; dstate [R, h] is stored or added
/// to when defined: the part of the gradient that does not flow through dgh.
struct GruCellBackward {
  static constexpr std::string_view name = "gru_cell_backward";
  Tensor gi, gh, state, dy, dgi, dgh, dstate;
  bool accumulate_dstate = false;
  Work work() const {
    using namespace operations_detail;
    return {45.0 * count(dy.elements()), bytes_of(gi) + bytes_of(gh) + bytes_of(state) + bytes_of(dy),
            bytes_of(dgi) + bytes_of(dgh) + (dstate.defined() ? bytes_of(dstate) : 0.0)};
  }
};

/// y = tanh(x), same shape.
struct Tanh {
  static constexpr std::string_view name = "tanh";
  Tensor x, y;
  Work work() const {
    using namespace operations_detail;
    return {10.0 * count(y.elements()), bytes_of(x), bytes_of(y)};
  }
};

/// Backward of Tanh: dx (+)= dy (1 - y^2).
struct TanhBackward {
  static constexpr std::string_view name = "tanh_backward";
  Tensor y, dy, dx;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {3.0 * count(y.elements()), bytes_of(y) + bytes_of(dy) + (accumulate ? bytes_of(dx) : 0.0), bytes_of(dx)};
  }
};

/// JODIE's projection of an embedding through time (equation 4): y[R, h] = x (1 + dt[R, 1] slope[1, h] + shift[1, h]).
struct TimeProjection {
  static constexpr std::string_view name = "time_projection";
  Tensor x, dt, slope, shift, y;
  Work work() const {
    using namespace operations_detail;
    return {4.0 * count(y.elements()), bytes_of(x) + bytes_of(dt) + 2.0 * bytes_of(slope), bytes_of(y)};
  }
};

/// Backward of TimeProjection: dx [R, h] is stored or added to when defined; dslope and dshift [1, h] are added to, in
/// an order that does not depend on the number of threads.
struct TimeProjectionBackward {
  static constexpr std::string_view name = "time_projection_backward";
  Tensor x, dt, slope, shift, dy, dx, dslope, dshift;
  bool accumulate_dx = false;
  Work work() const {
    using namespace operations_detail;
    return {9.0 * count(dy.elements()), bytes_of(x) + bytes_of(dt) + bytes_of(dy) + 2.0 * bytes_of(slope),
            (dx.defined() ? bytes_of(dx) : 0.0) + 2.0 * bytes_of(dslope)};
  }
};

/// Normalisation of each row by itself (Ba et al., 2016): y = gain (x - mean) / sqrt(variance + epsilon) + shift, with
/// the row's mean and biased variance; x, y [R, F], gain, shift [1, F].
struct LayerNorm {
  static constexpr std::string_view name = "layer_norm";
  Tensor x, gain, shift, y;
  double epsilon = 1e-5;
  Work work() const {
    using namespace operations_detail;
    return {8.0 * count(x.elements()), bytes_of(x) + 2.0 * bytes_of(gain), bytes_of(y)};
  }
};

/// Backward of LayerNorm; the statistics are computed again. dx [R, F] is stored or added to when defined; dgain and
/// dshift [1, F] are added to, in an order that does not depend on the number of threads.
struct LayerNormBackward {
  static constexpr std::string_view name = "layer_norm_backward";
  Tensor x, gain, dy, dx, dgain, dshift;
  double epsilon = 1e-5;
  bool accumulate_dx = false;
  Work work() const {
    using namespace operations_detail;
    return {16.0 * count(x.elements()), bytes_of(x) + bytes_of(dy) + bytes_of(gain),
            (dx.defined() ? bytes_of(dx) : 0.0) + 2.0 * bytes_of(dgain)};
  }
};

}  // namespace strobe
