// Writes byte matrices for alltoallv_perf of nccl-tests, which reads them from NCCL_TESTS_ALLTOALLV_MATRIX_FILE. A
// matrix is a square of numbers separated by white space: line i, column j has the bytes that rank i sends to rank j.
// The test rounds each number down to a multiple of 16 bytes and allows no comments. Its options -b and -e must be
// equal, and at least the largest sum of a line or column. So this sum is part of the file's name. Invariant: the
// numbers are those of the plan, which every run is checked against. Cost: P^2 numbers per exchange. Source:
// nccl-tests, src/alltoallv.cu, "Matrix file mode".
#include "harness/cli/byte_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "results/run/files.hpp"

namespace strobe {
namespace {

/// Keeps letters, digits and dots of a text, and replaces every other run of characters by one dash.
std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
    if (plain) name += c;
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

ByteMatrixFile file_of(const Json& exchange, const std::string& prefix) {
  const Json& matrix = exchange.at("byte_matrix");
  ByteMatrixFile file;
  std::vector<std::uint64_t> received(matrix.size());
  for (const Json& row : matrix) {
    std::uint64_t sent = 0;
    for (std::size_t q = 0; q < row.size(); ++q) {
      const auto bytes = row[q].get<std::uint64_t>();
      file.text += (q == 0 ? "" : " ") + std::to_string(bytes);
      sent += bytes;
      received[q] += bytes;
    }
    file.text += "\n";
    file.most_bytes_of_a_rank = std::max(file.most_bytes_of_a_rank, sent);
  }
  for (const std::uint64_t bytes : received) file.most_bytes_of_a_rank = std::max(file.most_bytes_of_a_rank, bytes);
  file.name = fmt::format("{}-{}.e{}.txt", prefix, file_name(exchange.at("name").get<std::string>()),
                          file.most_bytes_of_a_rank);
  return file;
}

void collect(const Json& part, const std::string& id, std::vector<ByteMatrixFile>& files) {
  if (part.is_object() && part.contains("byte_matrix")) {
    ByteMatrixFile file = file_of(part, fmt::format("{}-{:02}", file_name(id), files.size() + 1));
    if (file.most_bytes_of_a_rank > 0) files.push_back(std::move(file));
    return;
  }
  if (!part.is_structured()) return;
  for (const Json& inner : part) collect(inner, id, files);
}

}  // namespace

std::vector<ByteMatrixFile> byte_matrix_files(const Json& plan) {
  std::vector<ByteMatrixFile> files;
  collect(plan, plan.at("case_id").get<std::string>(), files);
  return files;
}

std::size_t write_byte_matrices(const std::string& folder, const Json& plan) {
  const std::vector<ByteMatrixFile> files = byte_matrix_files(plan);
  make_folder(folder);
  for (const ByteMatrixFile& file : files) write_file_atomically(folder + "/" + file.name, file.text);
  return files.size();
}

}  // namespace strobe
