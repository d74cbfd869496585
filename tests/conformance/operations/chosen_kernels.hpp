// Notes which kernels of an operation are chosen, by those who ask for the best one, in place of running them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/kernel.hpp"
#include "core/errors.hpp"

namespace strobe::conformance {

/// Thrown where a kernel would have begun: nothing has values that others could go on with.
struct KernelWasChosen {};

/// The variants that were chosen since the note began; it ends with this object.
class ChosenKernels {
 public:
  virtual ~ChosenKernels() = default;
  std::set<std::string> variants;
};

/// One note of an operation at a time, on one thread.
template <class Op>
class ChosenKernelsOf final : public ChosenKernels {
 public:
  explicit ChosenKernelsOf(Numerics numerics) : kernels_(Kernels<Op>::of(numerics)), before_(kernels_) {
    if (kernels_.size() > most) throw Error("more kernels of an operation than can be told apart");
    current() = this;
    replace(std::make_index_sequence<most>{});
  }
  ~ChosenKernelsOf() override {
    kernels_ = before_;
    current() = nullptr;
  }
  ChosenKernelsOf(const ChosenKernelsOf&) = delete;
  ChosenKernelsOf& operator=(const ChosenKernelsOf&) = delete;

 private:
  static constexpr std::size_t most = 8;

  static ChosenKernelsOf*& current() {
    static ChosenKernelsOf* note = nullptr;
    return note;
  }
  template <std::size_t i>
  [[noreturn]] static void note_kernel(const Op&, KernelContext&) {
    current()->variants.insert(current()->before_[i].variant);
    throw KernelWasChosen();
  }
  /// A kernel is a plain function, so each place in the table has one of its own.
  template <std::size_t... i>
  void replace(std::index_sequence<i...>) {
    ((i < kernels_.size() ? static_cast<void>(kernels_[i].run = note_kernel<i>) : void()), ...);
  }

  std::vector<Kernel<Op>>& kernels_;
  const std::vector<Kernel<Op>> before_;
};

template <class Op>
std::shared_ptr<ChosenKernels> note_chosen_kernels(Numerics numerics) {
  return std::make_shared<ChosenKernelsOf<Op>>(numerics);
}

}  // namespace strobe::conformance
