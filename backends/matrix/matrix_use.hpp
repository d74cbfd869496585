// How a sparse matrix will be used, as stated by the code that brings it to a device. The device decides which extra
// forms its kernels need for that use, and how many columns they can hold in them (Device::prepare).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace strobe {

/// A dense layer with relu whose output a product gathers, computed again for every entry of the matrix.
struct RepeatedLayer {
  std::int64_t inputs = 0;       // columns that the layer reads
  std::int64_t outputs = 0;      // columns of the dense layer after the product
  bool weight_per_step = false;  // whether both layers have a weight for every step
};

/// One product with a matrix.
struct MatrixProduct {
  std::int64_t columns = 0;               // columns of the dense matrix whose rows it gathers
  bool backward = true;                   // whether a gradient flows through it, by the transpose
  std::optional<RepeatedLayer> repeated;  // set if those rows are not stored but computed again for every entry
};

struct MatrixUse {
  std::vector<MatrixProduct> products;
  bool reads_entries = false;  // products go over single entries, as attention does: forms for sums do not help
  bool lasting = true;         // used in many passes; false: in one, so forms that must be made first seldom pay

  /// Whether a gradient flows through any of the products.
  bool backward() const {
    return std::any_of(products.begin(), products.end(), [](const MatrixProduct& one) { return one.backward; });
  }
};

}  // namespace strobe
