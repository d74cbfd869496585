#include "models/tape/parameters.hpp"

#include <cmath>

#include "core/ids.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

/// FNV-1a of the name: a stable stream key, so that a parameter's values do not depend on which others exist.
std::uint32_t name_key(const std::string& name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// Appends a range of a matrix's elements, which lie row by row.
void append_drawn(const ParameterShape& shape, std::uint64_t seed, Run elements, std::vector<double>& values) {
  const RandomStream random(seed, random_purpose::parameters, name_key(shape.name));
  for (std::int64_t i = elements.first; i < elements.first + elements.count; ++i)
    values.push_back(shape.centre + (2.0 * random.uniform(static_cast<std::uint64_t>(i)) - 1.0) * shape.bound);
}

std::vector<double> initial_values(const std::vector<ParameterShape>& shapes, std::uint64_t seed) {
  std::size_t count = 0;
  for (const ParameterShape& shape : shapes) count += static_cast<std::size_t>(shape.rows * shape.columns);
  std::vector<double> values;
  values.reserve(count);
  for (const ParameterShape& shape : shapes) {
    if (!shape.start.empty()) {
      values.insert(values.end(), shape.start.begin(), shape.start.end());
      continue;
    }
    append_drawn(shape, seed, {0, shape.rows * shape.columns}, values);
  }
  return values;
}

}  // namespace

std::vector<double> drawn_rows(const ParameterShape& shape, std::uint64_t seed, std::int64_t first, std::int64_t step) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>((shape.rows - first + step - 1) / step * shape.columns));
  for (std::int64_t row = first; row < shape.rows; row += step)
    append_drawn(shape, seed, {row * shape.columns, shape.columns}, values);
  return values;
}

ParameterShape glorot(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return {name, rows, columns, std::sqrt(6.0 / static_cast<double>(rows + columns)), 0};
}

Parameters::Parameters(Device& device, const std::vector<ParameterShape>& shapes, std::uint64_t seed,
                       const std::vector<double>& start) {
  std::int64_t count = 0;
  for (const ParameterShape& shape : shapes) count += shape.rows * shape.columns;
  if (!device.has_values()) {  // a simulated rank would draw what nobody reads
    values_ = device.move_in(nullptr, count, 1, device.precision());
  } else if (const std::vector<double> initial = start.empty() ? initial_values(shapes, seed) : start;
             device.precision() == ElementType::f64) {
    values_ = device.move_in(initial.data(), count, 1, ElementType::f64);
  } else {
    const std::vector<float> rounded(initial.begin(), initial.end());
    values_ = device.move_in(rounded.data(), count, 1, ElementType::f32);
  }
  gradients_ = device.allocate(count, 1);
  device.run(Fill{gradients_, 0.0});
  std::int64_t first = 0;
  for (const ParameterShape& shape : shapes) {
    names_.push_back(shape.name);
    leaves_.push_back(
        Tape::leaf(values_.view(first, shape.rows, shape.columns), gradients_.view(first, shape.rows, shape.columns)));
    first += shape.rows * shape.columns;
  }
}

const Var& Parameters::at(const std::string& name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return leaves_[i];
  }
  throw Error("no parameter is called '" + name + "'");
}

}  // namespace strobe
