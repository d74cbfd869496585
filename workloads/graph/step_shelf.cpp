// Steps follow each other in files of a share of the bound, because many small files would be slow.
#include "workloads/graph/step_shelf.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace strobe {
namespace {

constexpr std::size_t least_shelf_bytes = std::size_t{1} << 16, shelf_share = 16, shelf_alignment = 64;

}  // namespace

std::shared_ptr<const Snapshot> StepShelf::keep(std::shared_ptr<const Snapshot> step) {
  if (bound_ == nullptr || step->nonzeros() == 0) return step;  // steps without edges share one snapshot
  in_memory_ += step->row_offsets.size() * sizeof(std::int64_t) + step->columns.size() * sizeof(VertexId) +
                step->values.size() * sizeof(float) + step->exact_values.size() * sizeof(double);
  if (in_memory_ <= bound_->most_bytes()) return step;
  Snapshot moved = *step;
  move_aside(moved.row_offsets), move_aside(moved.columns);
  move_aside(moved.values), move_aside(moved.exact_values);
  return std::make_shared<const Snapshot>(std::move(moved));
}

template <class T>
void StepShelf::move_aside(Column<T>& values) {
  const std::size_t bytes = values.size() * sizeof(T);
  if (bytes == 0) return;
  if (block_ == nullptr || block_->bytes() - used_ < bytes) {
    const PagesInFiles aside(bound_->folder);
    block_ = std::make_shared<const Pages>(std::max({bytes, least_shelf_bytes, bound_->bytes / shelf_share}));
    used_ = 0;
  }
  std::byte* const place = block_->data() + used_;
  std::memcpy(place, values.data(), bytes);
  rest_pages(place, bytes);
  values = Column<T>(block_, reinterpret_cast<const T*>(place), values.size(), true);
  used_ = std::min(block_->bytes(), (used_ + bytes + shelf_alignment - 1) / shelf_alignment * shelf_alignment);
}

}  // namespace strobe
