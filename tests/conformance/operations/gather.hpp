// Cases and judges of the dense layer on listed rows and its gradient: sample by sample, one output value at a time.
#pragma once

#include "backends/operations/operations_gather.hpp"
#include "tests/conformance/operations/copy.hpp"

namespace strobe::conformance {

/// x [rows, inner], `lists` lists of `samples` rows, w [lists * inner, width].
struct GatheredShape {
  std::int64_t rows, inner, lists, samples, width;
  std::string name() const {
    return std::to_string(samples) + " samples of " + std::to_string(lists) + " x " + std::to_string(inner) + " to " +
           std::to_string(width);
  }
};

struct GatheredValues {
  std::vector<double> x, w, bias, dy;
  std::vector<std::vector<std::int64_t>> lists;
  explicit GatheredValues(const GatheredShape& s)
      : x(random_values(s.rows * s.inner, 201)),
        w(random_values(s.lists * s.inner * s.width, 202)),
        bias(random_values(s.width, 203)),
        dy(random_values(s.samples * s.width, 204)) {
    for (std::int64_t k = 0; k < s.lists; ++k)
      lists.push_back(random_rows(s.rows, s.samples, true, static_cast<std::uint32_t>(211 + k)));
  }
  std::size_t place(const GatheredShape& s, std::int64_t list, std::int64_t sample, std::int64_t f) const {
    const std::int64_t row = lists[list][sample];
    return static_cast<std::size_t>(row * s.inner + f);
  }
};

/// Calls body(place in x, place in w, place in y) for every term of the layer.
template <class Body>
void for_gathered_terms(const GatheredShape& s, const GatheredValues& v, const Body& body) {
  for (std::int64_t i = 0; i < s.samples; ++i) {
    for (std::int64_t k = 0; k < s.lists; ++k) {
      for (std::int64_t f = 0; f < s.inner; ++f) {
        const std::int64_t weight = (k * s.inner + f) * s.width;
        for (std::int64_t g = 0; g < s.width; ++g)
          body(v.place(s, k, i, f), static_cast<std::size_t>(weight + g), static_cast<std::size_t>(i * s.width + g));
      }
    }
  }
}

inline std::vector<Output> judge_gathered_dense(Device& device, const GatheredShape& s, bool with_bias) {
  const GatheredValues v(s);
  std::vector<Judged> y(v.dy.size());
  for (std::size_t i = 0; with_bias && i < y.size(); ++i) y[i].add(v.bias[i % static_cast<std::size_t>(s.width)]);
  for_gathered_terms(s, v, [&](std::size_t x, std::size_t w, std::size_t out) { y[out].add(v.x[x] * v.w[w]); });
  GatheredDense op;
  op.x = upload(device, v.x, s.rows, s.inner);
  for (const auto& list : v.lists) op.rows.push_back(upload(device, list));
  op.w = upload(device, v.w, s.lists * s.inner, s.width);
  if (with_bias) op.bias = upload(device, v.bias, 1, s.width);
  op.y = device.allocate(s.samples, s.width);
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_gathered_dense_backward(Device& device, const GatheredShape& s, bool with_dx,
                                                         bool with_bias) {
  const GatheredValues v(s);
  const std::vector<double> dx0 = random_values(s.rows * s.inner, 205),
                            dw0 = random_values(s.lists * s.inner * s.width, 206), dbias0 = random_values(s.width, 207);
  std::vector<Judged> dx = start(dx0, true), dw = start(dw0, true), dbias = start(dbias0, true);
  for_gathered_terms(s, v, [&](std::size_t x, std::size_t w, std::size_t out) {
    dx[x].add(v.dy[out] * v.w[w]);
    dw[w].add(v.x[x] * v.dy[out]);
  });
  for (std::size_t i = 0; i < v.dy.size(); ++i) dbias[i % static_cast<std::size_t>(s.width)].add(v.dy[i]);
  GatheredDenseBackward op;
  op.x = upload(device, v.x, s.rows, s.inner);
  for (const auto& list : v.lists) op.rows.push_back(upload(device, list));
  op.w = upload(device, v.w, s.lists * s.inner, s.width);
  op.dy = upload(device, v.dy, s.samples, s.width);
  if (with_dx) op.dx = upload(device, dx0, s.rows, s.inner);
  op.dw = upload(device, dw0, s.lists * s.inner, s.width);
  if (with_bias) op.dbias = upload(device, dbias0, 1, s.width);
  device.run(op);
  std::vector<Output> outputs{{"dw", download(device, op.dw), dw}};
  if (with_dx) outputs.push_back({"dx", download(device, op.dx), dx});
  if (with_bias) outputs.push_back({"dbias", download(device, op.dbias), dbias});
  return outputs;
}

inline std::vector<OperationFamily> gathered_dense_families() {
  const std::vector<GatheredShape> shapes{
      {5, 3, 2, 0, 2},      {1, 1, 1, 1, 1},    {3, 6, 2, 7, 2},      {4000, 6, 2, 9000, 2}, {500, 16, 1, 1300, 1},
      {900, 8, 2, 2500, 3}, {70, 5, 3, 600, 4}, {200, 64, 2, 400, 2}, {90, 33, 4, 300, 17},  {50, 2, 1, 5000, 5}};
  std::vector<OperationCase> forward, backward;
  for (const GatheredShape& shape : shapes) {
    for (const bool bias : {false, true}) {
      const std::string name = shape.name() + (bias ? ", bias" : "");
      forward.push_back({"", name, [=](Device& device) { return judge_gathered_dense(device, shape, bias); }});
      for (const bool dx : {false, true}) {
        backward.push_back({"", name + (dx ? ", dx" : ""),
                            [=](Device& device) { return judge_gathered_dense_backward(device, shape, dx, bias); }});
      }
    }
  }
  return {family<GatheredDense>(forward), family<GatheredDenseBackward>(backward)};
}

}  // namespace strobe::conformance
