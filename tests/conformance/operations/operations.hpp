// Conformance of operations: every registered kernel variant of every device is judged by references of another kind -
// scalar loops in double over std::vector, written for clarity - on one list of cases. A device or a variant that
// registers itself is judged without an edit here. Nothing in this folder depends on a test framework.
//
// A case uploads values that are exact in float, runs one operation and compares each output value with the judge's,
// relative to the magnitude of the terms that were added up (the sum of their absolute values).
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/device.hpp"
#include "core/random.hpp"
#include "tests/conformance/operations/chosen_kernels.hpp"

namespace strobe::conformance {

/// The judge's value and the magnitude that its rounding errors are measured against.
struct Judged {
  double value = 0;
  double magnitude = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
  }
};

/// One output tensor of a case: what the device computed and what the judge expects.
struct Output {
  std::string name;
  std::vector<double> got;
  std::vector<Judged> expected;
};

/// One case of an operation; `run` throws Unavailable when the device lacks the operation.
struct OperationCase {
  std::string operation;
  std::string name;
  std::function<std::vector<Output>(Device&)> run;
};

/// All cases of one operation, and its kernels for one numerics: the variants, their priorities, and which of them are
/// chosen while a note is kept.
struct OperationFamily {
  std::string operation;
  std::function<std::vector<std::string>(Numerics)> variants;
  std::function<std::map<std::string, int>(Numerics)> priorities;
  std::function<std::shared_ptr<ChosenKernels>(Numerics)> note_chosen;
  std::shared_ptr<const std::vector<OperationCase>> cases;  // shared: settings of tests copy families
};

template <class Op>
std::vector<std::string> variant_names(Numerics numerics) {
  std::vector<std::string> names;
  for (const Kernel<Op>* kernel : kernels_of<Op>(numerics)) names.emplace_back(kernel->variant);
  return names;
}

template <class Op>
std::map<std::string, int> variant_priorities(Numerics numerics) {
  std::map<std::string, int> priorities;
  for (const Kernel<Op>* kernel : kernels_of<Op>(numerics)) priorities.emplace(kernel->variant, kernel->priority);
  return priorities;
}

template <class Op>
OperationFamily family(std::vector<OperationCase> cases) {
  for (OperationCase& one : cases) one.operation = std::string(Op::name);
  return {std::string(Op::name), variant_names<Op>, variant_priorities<Op>, note_chosen_kernels<Op>,
          std::make_shared<const std::vector<OperationCase>>(std::move(cases))};
}

/// Returns the value of `make`, made once for consecutive calls with the same `key`: a case runs with several numbers
/// of threads, and a judge takes longer than the kernels. Every lambda has a memory of its own, for one value.
template <class Make>
const std::invoke_result_t<Make>& judged_once(const std::string& key, const Make& make) {
  static std::string last;
  static std::unique_ptr<const std::invoke_result_t<Make>> value;
  if (value == nullptr || key != last) {
    value = std::make_unique<const std::invoke_result_t<Make>>(make());
    last = key;
  }
  return *value;
}

/// `count` values, uniform in [-1, 1] and exact in float; the same for the same `key` everywhere.
inline std::vector<double> random_values(std::int64_t count, std::uint32_t key) {
  static std::map<std::uint32_t, std::vector<double>> drawn;  // drawing is most of a small case's time
  std::vector<double>& values = drawn[key];
  const RandomStream stream(2024, random_purpose::test, key);
  while (static_cast<std::int64_t>(values.size()) < count) {
    values.push_back(static_cast<double>(static_cast<float>(2.0 * stream.uniform(values.size()) - 1.0)));
  }
  return {values.begin(), values.begin() + count};
}

/// Values in the device's precision.
inline Tensor upload(Device& device, const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
  if (device.precision() == ElementType::f64) return device.move_in(values.data(), rows, columns, ElementType::f64);
  const std::vector<float> narrow(values.begin(), values.end());
  return device.move_in(narrow.data(), rows, columns, ElementType::f32);
}

inline Tensor upload(Device& device, const std::vector<std::int64_t>& values, std::int64_t columns = 1) {
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()) / columns, columns, ElementType::i64);
}

inline Tensor upload(Device& device, const std::vector<std::int32_t>& values, std::int64_t columns = 1) {
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()) / columns, columns, ElementType::i32);
}

inline std::vector<double> download(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.elements());
  if (tensor.type() == ElementType::f64) {
    device.move_out(tensor, values.data());
  } else {
    std::vector<float> narrow(values.size());
    device.move_out(tensor, narrow.data());
    values.assign(narrow.begin(), narrow.end());
  }
  return values;
}

/// Judged values that begin with what the output held before (accumulate) or with zero.
inline std::vector<Judged> start(const std::vector<double>& before, bool accumulate) {
  std::vector<Judged> result(before.size());
  for (std::size_t i = 0; accumulate && i < before.size(); ++i) result[i].add(before[i]);
  return result;
}

/// The families of all operations of backends/operations/operations.hpp.
std::vector<OperationFamily> operation_families();

/// The first value of `output` outside `limit`, in words; empty when all are inside.
std::string first_difference(const Output& output, double limit);

bool same_bits(const std::vector<double>& a, const std::vector<double>& b);

/// The variants that are chosen for the family's cases, in both precisions, when none is named. No kernel is run: a
/// case ends where its first kernel would begin.
std::set<std::string> chosen_variants(const OperationFamily& family, Numerics numerics, const std::string& device);

/// Case name to the variant whose kernel it begins with when `variant` is named ("" = none is); cases that no kernel
/// serves are missing. No kernel of the family is run.
std::map<std::string, std::string> variants_of_cases(const OperationFamily& family, Numerics numerics,
                                                     const std::string& device, ElementType precision,
                                                     const std::string& variant);

/// Runs one case on a device made by `device` in `precision`, and says what is wrong; empty when nothing is.
/// `threads` lists thread counts: results must be equal bit for bit between them.
std::vector<std::string> check(const OperationCase& one, const std::string& device, ElementType precision,
                               const std::string& variant, const std::vector<int>& threads);

}  // namespace strobe::conformance
