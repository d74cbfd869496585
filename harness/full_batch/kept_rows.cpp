#include "harness/full_batch/kept_rows.hpp"

#include <algorithm>

namespace strobe {
namespace {

void copy(Device& device, const Tensor& from, const Tensor& to) {
  device.run(CopyRows{from, to, {}, {}, from.rows(), 0, 0, from.columns(), false});
}

}  // namespace

void KeptRows::keep(std::size_t block, const Tensor& embeddings) {
  const BlockPlan& plan = plan_.blocks[block];
  const std::vector<std::int64_t> first = plan.spatial.row_offsets(device_.rank());
  width_ = embeddings.columns();
  std::vector<Tensor> wanted;
  std::int64_t rows = 0;
  for (const Step t : steps_) {
    if (t < plan.first_step || t >= plan.first_step + plan.steps()) continue;
    wanted.push_back(embeddings.slice_rows(first[t - plan.first_step], own_rows(t)));
    rows += own_rows(t);
  }
  if (plan_.blocks.size() == 1 || rows == embeddings.rows()) {
    at_step_.insert(at_step_.end(), wanted.begin(), wanted.end());
    return;
  }
  const Tensor copies = device_.allocate(rows, width_, embeddings.type());
  std::int64_t next = 0;
  for (const Tensor& step : wanted) {
    at_step_.push_back(copies.slice_rows(next, step.rows()));
    copy(device_, step, at_step_.back());
    next += step.rows();
  }
}

Tensor KeptRows::rows(const std::vector<Step>& steps) const {
  std::int64_t count = 0;
  for (const Step t : steps) count += own_rows(t);
  const Tensor all = device_.allocate(count, width_);
  std::int64_t next = 0;
  for (const Step t : steps) {
    const auto kept = std::lower_bound(steps_.begin(), steps_.end(), t) - steps_.begin();
    const Tensor& step = at_step_.at(kept);
    copy(device_, step, all.slice_rows(next, step.rows()));
    next += step.rows();
  }
  return all;
}

}  // namespace strobe
