// Kernels implement operations. A kernel registers itself from its own file for one operation, one numerics and one
// variant ("plain" is the reference, others are faster). A device asks for the best variant that supports the call.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/operations/operations.hpp"
#include "core/errors.hpp"

namespace strobe {

class Workers;  // core/system/parallel.hpp: threads and all they include, which a kernel of a GPU never needs

namespace cuda {
class GatheredLaunches;  // backends/cuda/gathered_launches.hpp
}

/// The processor that computes values. `none` keeps shapes only.
enum class Numerics : std::uint8_t { none, cpu, cuda };

/// The resources of a kernel: the device's threads (cpu) or its native queue (`native_stream` is a cudaStream_t), and
/// scratch memory in the order of that queue.
struct KernelContext {
  Workers* workers = nullptr;
  void* native_stream = nullptr;
  /// Where launches go on a GPU that gathers them into graphs. Null: to the stream.
  cuda::GatheredLaunches* gathered = nullptr;
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

/// The kernels of one operation for one numerics.
template <class Op>
class Kernels {
 public:
  static std::vector<Kernel<Op>>& of(Numerics numerics) {
    static std::vector<Kernel<Op>> tables[3];
    return tables[static_cast<int>(numerics)];
  }

  /// The best supported kernel, or the one named `variant` when it is not empty. Throws Unavailable when none fits.
  static const Kernel<Op>& choose(Numerics numerics, const Op& op, const std::string& variant) {
    const Kernel<Op>* best = nullptr;
    for (const Kernel<Op>& kernel : of(numerics)) {
      if (!variant.empty() && variant != kernel.variant) continue;
      if (kernel.supports != nullptr && !kernel.supports(op)) continue;
      if (variant.empty() && kernel.worth != nullptr && !kernel.worth(op)) continue;
      if (best == nullptr || kernel.priority > best->priority) best = &kernel;
    }
    if (best == nullptr && !variant.empty()) return choose(numerics, op, "");
    if (best == nullptr) throw Unavailable("no kernel for operation " + std::string(Op::name) + " on this device");
    return *best;
  }
};

/// The operations that have kernels of one numerics, by variant.
inline std::map<std::string, std::set<std::string>>& kernel_variants(Numerics numerics) {
  static std::map<std::string, std::set<std::string>> tables[3];
  return tables[static_cast<int>(numerics)];
}

/// `const RegisterKernel<Spmm> plain{Numerics::cpu, {"plain", 0, nullptr, run_spmm}};` in the kernel's own file.
template <class Op>
struct RegisterKernel {
  RegisterKernel(Numerics numerics, Kernel<Op> kernel) {
    Kernels<Op>::of(numerics).push_back(kernel);
    kernel_variants(numerics)[kernel.variant].insert(std::string(Op::name));
  }
};

}  // namespace strobe
