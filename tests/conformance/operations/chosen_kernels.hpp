// Notes which kernel of an operation is chosen, in place of running it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/kernel.hpp"
#include "core/errors.hpp"

namespace strobe::conformance {

/// Thrown where a kernel would have begun: nothing has values that others could go on with.
struct KernelWasChosen {
  std::string variant;
};

/// The kernels of the family, then those of its base.
template <class Op>
std::vector<Kernel<Op>*> kernels_of(Numerics numerics) {
  std::vector<Kernel<Op>*> kernels;
  for (Kernel<Op>& kernel : Kernels<Op>::of(numerics)) kernels.push_back(&kernel);
  if (numerics.base() == Numerics::none) return kernels;
  for (Kernel<Op>& kernel : Kernels<Op>::of(numerics.base())) kernels.push_back(&kernel);
  return kernels;
}

/// Kernels throw KernelWasChosen as long as the note is kept; it ends with this object.
class ChosenKernels {
 public:
  virtual ~ChosenKernels() = default;
};

/// One note of an operation at a time, on one thread.
template <class Op>
class ChosenKernelsOf final : public ChosenKernels {
 public:
  explicit ChosenKernelsOf(Numerics numerics) : kernels_(kernels_of<Op>(numerics)) {
    if (kernels_.size() > most) throw Error("more kernels of an operation than can be told apart");
    for (const Kernel<Op>* kernel : kernels_) before_.push_back(*kernel);
    current() = this;
    replace(std::make_index_sequence<most>{});
  }
  ~ChosenKernelsOf() override {
    for (std::size_t i = 0; i < kernels_.size(); ++i) *kernels_[i] = before_[i];
    current() = nullptr;
  }
  ChosenKernelsOf(const ChosenKernelsOf&) = delete;
  ChosenKernelsOf& operator=(const ChosenKernelsOf&) = delete;

 private:
  static constexpr std::size_t most = 16;

  static ChosenKernelsOf*& current() {
    static ChosenKernelsOf* note = nullptr;
    return note;
  }
  template <std::size_t i>
  [[noreturn]] static void note_kernel(const Op&, KernelContext&) {
    throw KernelWasChosen{current()->before_[i].variant};
  }
  /// A kernel is a plain function, so each place in the list has one of its own.
  template <std::size_t... i>
  void replace(std::index_sequence<i...>) {
    ((i < kernels_.size() ? static_cast<void>(kernels_[i]->run = note_kernel<i>) : void()), ...);
  }

  const std::vector<Kernel<Op>*> kernels_;
  std::vector<Kernel<Op>> before_;
};

template <class Op>
std::shared_ptr<ChosenKernels> note_chosen_kernels(Numerics numerics) {
  return std::make_shared<ChosenKernelsOf<Op>>(numerics);
}

}  // namespace strobe::conformance
