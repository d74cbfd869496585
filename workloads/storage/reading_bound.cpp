#include "workloads/storage/reading_bound.hpp"

#include <algorithm>
#include <utility>

#include "core/system/machine_limits.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {
namespace {

thread_local const ReadingBound* bound_of_thread = nullptr;

std::function<void(const std::string&)>& listener() {
  static std::function<void(const std::string&)> say;
  return say;
}

}  // namespace

BoundedReading::BoundedReading(std::uint64_t bytes, std::string folder)
    : bound_(bytes, std::move(folder)), outer_(std::exchange(bound_of_thread, &bound_)) {}

BoundedReading::~BoundedReading() { bound_of_thread = outer_; }

const ReadingBound* reading_bound() { return bound_of_thread; }

void report_readings_to(std::function<void(const std::string& line)> say) { listener() = std::move(say); }

void report_reading(const std::string& line) {
  if (listener()) listener()(line);
}

std::uint64_t default_reading_bytes() { return static_cast<std::uint64_t>(usable_memory_bytes() / 2); }

Column<VertexId> renumbered(const Column<VertexId>& ends, std::span<const VertexId> numbers) {
  constexpr std::size_t part = std::size_t{1} << 20;
  Pages memory(ends.size() * sizeof(VertexId));
  auto* const out = reinterpret_cast<VertexId*>(memory.data());
  for (std::size_t begin = 0; begin < ends.size(); begin += part) {
    const std::size_t count = std::min(part, ends.size() - begin);
    for (std::size_t i = begin; i < begin + count; ++i) out[i] = numbers[ends[i]];
    rest_pages(ends.data() + begin, count * sizeof(VertexId));
    rest_pages(out + begin, count * sizeof(VertexId));
  }
  return make_column<VertexId>(std::move(memory), ends.size());
}

void renumber_ends(Column<VertexId>& ends, std::span<const VertexId> numbers) {
  const ReadingBound* const bound = reading_bound();
  if (bound == nullptr || ends.size() * sizeof(VertexId) <= bound->run_bytes()) {
    for (VertexId& v : ends.edit()) v = numbers[v];
    return;
  }
  const PagesInFiles aside(bound->folder);
  ends = renumbered(ends, numbers);
}

}  // namespace strobe
