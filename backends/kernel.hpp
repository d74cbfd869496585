// Kernels implement operations. A kernel registers itself from its own file for one operation, one family and one
// variant ("plain" is the reference, others are faster). A device asks for the best variant that supports the call.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "backends/numerics.hpp"
#include "backends/operations/operations.hpp"
#include "core/errors.hpp"

namespace strobe {

class Workers;  // core/system/parallel.hpp: threads and all they include, which a kernel of a GPU never needs

/// The resources of a kernel: the device's family of kernels, its threads or its native queue, and scratch memory in
/// the order of that queue.
struct KernelContext {
  Numerics numerics;
  Workers* workers = nullptr;
  /// The runtime's handle of the compute stream; null where the host computes.
  void* native_stream = nullptr;
  /// A device passes this to kernels of its own family, which know its type. Null: nothing.
  void* own = nullptr;
  /// At least `bytes` of device memory (256-byte aligned) until the next call; earlier contents are lost. Not
  /// accounted, like a library's workspace. Throws OutOfMemory.
  std::function<std::byte*(std::size_t bytes)> scratch;
};

template <class Op>
struct Kernel {
  const char* variant = "plain";
  int priority = 0;                       // the supported kernel with the highest priority is taken; plain has 0
  bool (*supports)(const Op&) = nullptr;  // null: everything
  void (*run)(const Op&, KernelContext&) = nullptr;
  /// Whether it is the faster one for a call that it supports; asked only if no variant was named. Null: always.
  bool (*worth)(const Op&) = nullptr;
};

/// The kernels of one operation, by family.
template <class Op>
class Kernels {
 public:
  /// Those that the family has itself, to register one or to list them. Not while devices run operations.
  static std::vector<Kernel<Op>>& of(Numerics numerics) {
    const std::size_t id = numerics.id();
    if (tables().size() <= id) tables().resize(id + 1);
    return tables()[id];
  }

  /// The best supported kernel, or the one named `variant` when it is not empty; the family's own goes before its
  /// base's of the same name or priority. Throws Unavailable when none fits.
  static const Kernel<Op>& choose(Numerics numerics, const Op& op, const std::string& variant) {
    const Kernel<Op>* best = better(nullptr, numerics, op, variant);
    const bool named = best != nullptr && !variant.empty();
    if (!named && numerics.base().id() != 0) best = better(best, numerics.base(), op, variant);
    if (best == nullptr && !variant.empty()) return choose(numerics, op, "");
    if (best == nullptr) throw Unavailable("no kernel for operation " + std::string(Op::name) + " on this device");
    return *best;
  }

 private:
  static const Kernel<Op>* better(const Kernel<Op>* best, Numerics numerics, const Op& op, const std::string& variant) {
    const std::size_t id = numerics.id();
    if (id >= tables().size()) return best;
    for (const Kernel<Op>& kernel : tables()[id]) {
      if (!variant.empty() && variant != kernel.variant) continue;
      if (kernel.supports != nullptr && !kernel.supports(op)) continue;
      if (variant.empty() && kernel.worth != nullptr && !kernel.worth(op)) continue;
      if (best == nullptr || kernel.priority > best->priority) best = &kernel;
    }
    return best;
  }

  static std::deque<std::vector<Kernel<Op>>>& tables() {
    static std::deque<std::vector<Kernel<Op>>> all;  // a deque, so that a new family moves no other's table
    return all;
  }
};

/// `const RegisterKernel<Spmm> plain{"mine", {"plain", 0, nullptr, run_spmm}};` in the kernel's own file.
template <class Op>
struct RegisterKernel {
  RegisterKernel(Numerics numerics, Kernel<Op> kernel) {
    Kernels<Op>::of(numerics).push_back(kernel);
    note_kernel(numerics, kernel.variant, Op::name);
  }
};

}  // namespace strobe
