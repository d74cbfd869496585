#include "models/ops/ops_packed_rows.hpp"

namespace strobe {
namespace {

/// Copies the listed rows of `from` into `to`, whose other rows become zero when there are any.
void copy_listed(Device& device, const Tensor& from, const Tensor& to, const Tensor& from_rows, const Tensor& to_rows,
                 std::int64_t count, bool accumulate) {
  if (count < to.rows() && !accumulate) device.run(Fill{to, 0.0});
  if (count == 0) return;
  device.run(CopyRows{from, to, from_rows, to_rows, count, 0, 0, from.columns(), accumulate});
}

}  // namespace

Var pack_rows(Tape& tape, const Var& x, const PackedRows& list, std::int64_t bin_rows) {
  const Tensor bins = tape.device().allocate(bin_rows, x->value.columns(), x->value.type());
  copy_listed(tape.device(), x->value, bins, list.rows, list.places, list.count, false);
  return tape.record(bins, {x}, [&tape, x, list](const Variable& result) {
    const GradientTarget target = tape.target(x);
    copy_listed(tape.device(), result.gradient, target.tensor, list.places, list.rows, list.count, target.accumulate);
  });
}

Var collect_rows(Tape& tape, const std::vector<Var>& parts, const std::vector<PackedRows>& lists, std::int64_t rows,
                 std::int64_t width) {
  const Tensor all = tape.device().allocate(rows, width);
  std::vector<Var> read;
  std::vector<PackedRows> of;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!parts[k]) continue;
    read.push_back(parts[k]);
    of.push_back(lists[k]);
    tape.device().run(
        CopyRows{parts[k]->value, all, lists[k].places, lists[k].rows, lists[k].count, 0, 0, width, false});
  }
  return tape.record(all, read, [&tape, read, of](const Variable& result) {
    for (std::size_t k = 0; k < read.size(); ++k) {
      if (!read[k]->needs_gradient) continue;
      const GradientTarget target = tape.target(read[k]);
      copy_listed(tape.device(), result.gradient, target.tensor, of[k].rows, of[k].places, of[k].count,
                  target.accumulate);
    }
  });
}

}  // namespace strobe
