// Results of the conformance cases on every available device: kernels by operation, precision and variant, then host
// work, then collectives of communicators whose ranks run in this process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

/// One kernel variant of an operation on one device in one precision.
struct Verdict {
  std::string variant;
  std::size_t cases = 0;           // that it supports: its kernel ran in them
  std::vector<std::string> wrong;  // case, expected and got, in words

  bool right() const { return cases > 0 && wrong.empty(); }
};

struct Cell {
  std::string operation, device;
  ElementType precision = ElementType::f32;
  std::vector<Verdict> variants;
  /// Variant to the cases for which it is chosen when none is named.
  std::map<std::string, std::vector<std::string>> chosen;

  std::size_t right() const;
};

/// Cases of one suite on one device: a communicator's collectives, or work of the host.
struct SuiteVerdict {
  std::string suite, device;
  std::size_t cases = 0;
  std::vector<std::string> wrong;
};

struct Matrix {
  std::vector<std::string> devices;
  std::map<std::string, std::string> absent;  // device to the reason why it is not there
  std::vector<Cell> cells;
  std::vector<SuiteVerdict> suites;

  /// Everything that is wrong, in the order of the rows.
  std::vector<std::string> wrong() const;
};

/// The devices to judge: those in `wanted`, or, when it is empty, all that run on this machine. Throws InvalidRequest
/// for an unknown one, and for one of a described cluster, whose values another device's kernels compute; Unavailable
/// for a wanted one whose hardware is not there.
Matrix matrix_of(const std::vector<std::string>& wanted);

/// Judges all operations, or those in `wanted`. Throws InvalidRequest for an unknown one.
void judge_operations(Matrix& matrix, const std::vector<std::string>& wanted);

/// Work of the host on every device.
void judge_host_work(Matrix& matrix);

/// Every communicator that runs in one process, on each device whose memory is the host's, with 1 to 4 ranks.
void judge_collectives(Matrix& matrix);

const char* name_of(ElementType precision);

/// The matrix as a table, what is chosen for how many cases, and what is wrong.
std::string text_of(const Matrix& matrix);
std::string json_of(const Matrix& matrix);

}  // namespace strobe::conformance
