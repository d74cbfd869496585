// One buffer of integers has all lists of a batch, and one of reals all times and features. So a GPU gets two copies
// and not twenty. The same pass over the batch gives the layout of a buffer and fills it.
#include "harness/event_batches/trainer/batch_input.hpp"

#include <algorithm>

#include "harness/event_batches/trainer/feature_pages.hpp"
#include "workloads/graph/event_data.hpp"

namespace strobe {
namespace {

/// Sections are aligned to 64 bytes for fast vector loads.
constexpr std::int64_t section_bytes = 64;

std::int64_t rounded(std::int64_t elements, std::size_t element) {
  const std::int64_t step = section_bytes / static_cast<std::int64_t>(element);
  return (elements + step - 1) / step * step;
}

/// Calls visit(list) for every list of integers, in the order of the buffer.
template <class Visit>
void for_each_list(const BatchDraw& drawn, const Visit& visit) {
  for (const auto* list : {&drawn.vertices, &drawn.written, &drawn.own_rows, &drawn.other_rows, &drawn.root_rows})
    visit(*list);
  for (const auto& codes : drawn.pair_codes) visit(codes);
  for (const DrawnLevel& level : drawn.levels) {
    for (const auto* list :
         {&level.root_rows, &level.slot_rows, &level.offsets, &level.numbers, &level.slot_roots, &level.slot_numbers})
      visit(*list);
  }
}

/// Rows of features of events or vertices.
struct FeatureRows {
  const std::vector<std::int64_t>* of = nullptr;
  bool of_events = false;
  std::int64_t width = 0;
  const std::vector<float>* given = nullptr;  // [count, width], from other nodes; null: read here
  std::int64_t count() const { return static_cast<std::int64_t>(of->size()); }
};

/// Calls times(values) or features(rows) for every section of reals, in the order of the buffer.
template <class Times, class Features>
void for_each_real(const EventData& data, const BatchDraw& drawn, const Times& times, const Features& features) {
  const EventWidths& widths = data.widths;
  const auto given = [&](std::size_t section) {
    return drawn.edge_features.empty() ? nullptr : &drawn.edge_features[section];
  };
  times(drawn.mail_dt);
  times(drawn.root_dt);
  for (const DrawnLevel& level : drawn.levels) times(level.dt);
  features(FeatureRows{&drawn.mail_events, true, widths.edge, given(0)});
  for (std::size_t l = 0; l < drawn.levels.size(); ++l)
    features(FeatureRows{&drawn.levels[l].events, true, widths.edge, given(1 + l)});
  features(
      FeatureRows{&drawn.vertices, false, widths.vertex, drawn.vertex_features ? &*drawn.vertex_features : nullptr});
}

template <class Real>
void put_features(const EventData& data, const FeatureRows& rows, Real* to, Workers& workers) {
  if (rows.width == 0) return;
  if (rows.given != nullptr) {
    std::copy(rows.given->begin(), rows.given->end(), to);
    return;
  }
  constexpr std::int64_t of_task = 512;
  workers.run((rows.count() + of_task - 1) / of_task, [&](std::int64_t task) {
    std::vector<float> row(rows.width);
    const std::int64_t end = std::min(rows.count(), (task + 1) * of_task);
    for (std::int64_t i = task * of_task; i < end; ++i) {
      const std::int64_t which = (*rows.of)[i];
      if (rows.of_events)
        edge_feature_row(*data.whole, data.number(which), row.data());
      else
        data.put_vertex(which, row.data());
      std::copy(row.begin(), row.end(), to + i * rows.width);
    }
  });
}

template <class Real>
void pack_reals(const EventData& data, const BatchDraw& drawn, std::byte* buffer, Workers& workers) {
  Real* at = reinterpret_cast<Real*>(buffer);
  for_each_real(
      data, drawn,
      [&](const std::vector<double>& values) {
        std::transform(values.begin(), values.end(), at, [](double value) { return static_cast<Real>(value); });
        at += rounded(static_cast<std::int64_t>(values.size()), sizeof(Real));
      },
      [&](const FeatureRows& rows) {
        put_features(data, rows, at, workers);
        at += rounded(rows.count() * rows.width, sizeof(Real));
      });
}

void pack_lists(const BatchDraw& drawn, std::byte* buffer) {
  auto* at = reinterpret_cast<std::int64_t*>(buffer);
  for_each_list(drawn, [&](const std::vector<std::int64_t>& list) {
    std::copy(list.begin(), list.end(), at);
    at += rounded(static_cast<std::int64_t>(list.size()), sizeof(std::int64_t));
  });
}

/// Cuts a buffer on the device into its sections.
class Sections {
 public:
  explicit Sections(Tensor all) : all_(std::move(all)) {}
  Tensor next(std::int64_t rows, std::int64_t width = 1) {
    const Tensor section = all_.view(at_, rows, width);
    at_ += rounded(rows * width, element_bytes(all_.type()));
    return section;
  }

 private:
  Tensor all_;
  std::int64_t at_ = 0;
};

void cut_lists(const BatchDraw& drawn, const Tensor& all, BatchInput& input) {
  std::vector<Tensor> cut;
  Sections sections(all);
  for_each_list(drawn, [&](const std::vector<std::int64_t>& list) {
    cut.push_back(sections.next(static_cast<std::int64_t>(list.size())));
  });
  input.embed.vertex_numbers = cut.front();
  auto next = cut.begin();
  for (Tensor* to : {&input.lists.vertices, &input.lists.written, &input.lists.own_rows, &input.lists.other_rows,
                     &input.embed.root_rows})
    *to = *next++;
  for (const auto& codes : drawn.pair_codes) {
    if (!codes.empty()) input.pair_codes.push_back(*next);
    ++next;
  }
  for (std::size_t l = 0; l < drawn.levels.size(); ++l) {
    NeighbourLevel& level = input.embed.levels[l];
    level.roots = drawn.levels[l].roots;
    if (!drawn.levels[l].root_rows.empty() || level.roots == 0) level.root_rows = *next;
    ++next;
    for (Tensor* to : {&level.slots.rows, &level.slots.offsets, &level.numbers, &level.slot_roots, &level.slot_numbers})
      *to = *next++;
  }
}

void cut_reals(const EventData& data, const BatchDraw& drawn, const Tensor& all, BatchInput& input) {
  Sections sections(all);
  std::vector<Tensor> times, features;
  for_each_real(
      data, drawn,
      [&](const std::vector<double>& values) {
        times.push_back(sections.next(static_cast<std::int64_t>(values.size())));
      },
      [&](const FeatureRows& rows) {
        features.push_back(rows.width > 0 ? sections.next(rows.count(), rows.width) : Tensor());
      });
  input.mail_dt = times[0];
  input.embed.root_dt = times[1];
  input.mail_edge = features.front();
  input.embed.features = features.back();
  for (std::size_t l = 0; l < drawn.levels.size(); ++l) {
    input.embed.levels[l].dt = times[2 + l];
    input.embed.levels[l].edge = features[1 + l];
  }
}

}  // namespace

Tensor BatchLoader::bring(Travel& travel, std::int64_t elements, ElementType type, const HostWork& packing) {
  const PartScope part(device_, &travel == &numbers_ ? MemoryPart::graph : MemoryPart::features);
  const Tensor to = device_.allocate(elements, 1, type);
  const DeviceEvent free = device_.record(Stream::compute);
  HostWork work = packing;
  work.after = {travel.moved};
  const DeviceEvent packed = device_.run_on_host(std::move(work));
  travel.moved = device_.start_stream_in(travel.buffer.slice(0, to.bytes()), to, {packed, free});
  return to;
}

void BatchLoader::make_room(Travel& travel, std::uint64_t bytes) {
  if (travel.buffer.bytes() >= bytes && travel.buffer.bytes() > 0) return;
  device_.await(travel.moved);
  const PartScope part(device_, MemoryPart::buffers);
  travel.buffer = device_.allocate_host(bytes + bytes / 2 + section_bytes);
}

HostWork BatchLoader::packing_lists(const SharedDraw& drawn, std::int64_t elements) const {
  const double bytes = 8.0 * static_cast<double>(elements);
  HostWork work{"load_batch", {0, bytes, bytes}, 0, {}, {}};
  work.serial = true;
  if (numbers_.buffer.raw() != nullptr)
    work.body = [drawn, buffer = numbers_.buffer](Workers&) { pack_lists(*drawn, buffer.raw()); };
  return work;
}

HostWork BatchLoader::slicing_features(const SharedDraw& drawn, const Extent& extent) const {
  const double bytes = static_cast<double>(extent.reals) * static_cast<double>(element_bytes(device_.precision()));
  const double gathered = 4.0 * static_cast<double>(extent.features),
               row = 4.0 * static_cast<double>(data_.widths.edge);
  HostWork work{"slice_features", {0, bytes, bytes}, 0, {}, {}};
  if (extent.features > 0)
    work.work.gather = {gathered, gathered, static_cast<double>(data_.whole->events()) * row, row};
  if (reals_.buffer.raw() == nullptr) return work;
  work.body = [drawn, buffer = reals_.buffer, &data = data_, precision = device_.precision()](Workers& workers) {
    if (precision == ElementType::f64)
      pack_reals<double>(data, *drawn, buffer.raw(), workers);
    else
      pack_reals<float>(data, *drawn, buffer.raw(), workers);
    let_features_go(data, *drawn);
  };
  return work;
}

BatchLoader::Extent BatchLoader::extent_of(const BatchDraw& drawn) const {
  const std::size_t element = element_bytes(device_.precision());
  Extent extent;
  for_each_list(drawn, [&](const std::vector<std::int64_t>& list) {
    extent.numbers += rounded(static_cast<std::int64_t>(list.size()), sizeof(std::int64_t));
  });
  for_each_real(
      data_, drawn,
      [&](const std::vector<double>& values) {
        extent.reals += rounded(static_cast<std::int64_t>(values.size()), element);
      },
      [&](const FeatureRows& rows) {
        extent.reals += rounded(rows.count() * rows.width, element);
        // Features from other nodes lie in a row already.
        if (rows.given == nullptr) extent.features += rows.count() * rows.width;
      });
  return extent;
}

BatchInput BatchLoader::load(const SharedDraw& drawn) {
  BatchInput input;
  input.embed.levels.resize(drawn->levels.size());
  input.embed.vertices = static_cast<std::int64_t>(drawn->vertices.size());
  const Extent extent = extent_of(*drawn);
  make_room(numbers_, static_cast<std::uint64_t>(extent.numbers) * sizeof(std::int64_t));
  make_room(reals_, static_cast<std::uint64_t>(extent.reals) * element_bytes(device_.precision()));
  const HostWork lists = packing_lists(drawn, extent.numbers), features = slicing_features(drawn, extent);
  cut_lists(*drawn, bring(numbers_, extent.numbers, ElementType::i64, lists), input);
  cut_reals(data_, *drawn, bring(reals_, extent.reals, device_.precision(), features), input);
  input.lists_there = numbers_.moved;
  input.values_there = reals_.moved;
  return input;
}

}  // namespace strobe
