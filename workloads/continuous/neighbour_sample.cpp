// Two passes: how many neighbours each root has and where they end, then, at places known from the first pass, the
// neighbours. Both give tasks of some hundred roots to the workers, and write places of their own only.
//
// `tgl_compat` reads the entries of a vertex from the last one that is not later than the moment, k places down. It
// never takes the vertex's first entry, and where it meets one of the moment itself that place is lost; moments are
// compared in fp32, with 1e-7 between them (sampler_core.cpp of both).
#include "workloads/continuous/neighbour_sample.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t uniform_draws = 43;  // purpose of a random stream
constexpr std::int64_t roots_of_task = 256;
constexpr float compat_margin = 1e-7F;

/// The entries of a vertex from `begin` on; `end` is past the last one that counts.
struct Past {
  const TimedNeighbour* begin = nullptr;
  std::int64_t count = 0;
};

Past past_of(const TimeCsr& csr, VertexId vertex, EdgeId before) {
  const std::size_t v = vertex;
  const TimedNeighbour* const begin = csr.entries.data() + csr.offsets[v];
  const TimedNeighbour* low = begin;
  std::int64_t count = csr.offsets[v + 1] - csr.offsets[v];
  // A search without branches that cannot be foreseen: a step is one comparison and one conditional move.
  const std::uint64_t limit = before;
  while (count > 0) {
    const std::int64_t half = count / 2;
    const bool below = low[half].event < limit;
    low = below ? low + half + 1 : low;
    count = below ? count - half - 1 : half;
  }
  return {begin, low - begin};
}

class Sampler {
 public:
  Sampler(const EventGraph& events, const TimeCsr& csr, const SampleRoots& roots, std::int64_t k, Sampling sampling,
          std::uint64_t seed)
      : events_(events), csr_(csr), roots_(roots), k_(k), sampling_(sampling), seed_(seed) {}

  void draw(Workers& workers, NeighbourSample& sample) {
    const std::int64_t count = roots_.vertex.size();
    past_.resize(roots_.vertex.size());
    sample.offsets.resize(roots_.vertex.size() + 1);
    sample.offsets[0] = 0;
    in_tasks(workers, count, [&](std::int64_t r) {
      past_[r] = look_back(r);
      sample.offsets[static_cast<std::size_t>(r) + 1] = taken(r);
    });
    for (std::size_t r = 1; r < sample.offsets.size(); ++r) sample.offsets[r] += sample.offsets[r - 1];
    const std::size_t slots = sample.offsets.back();
    sample.vertex.resize(slots), sample.event.resize(slots), sample.slot_root.resize(slots);
    in_tasks(workers, count, [&](std::int64_t r) { write(r, sample); });
  }

 private:
  template <class Visit>
  static void in_tasks(Workers& workers, std::int64_t roots, const Visit& visit) {
    workers.run((roots + roots_of_task - 1) / roots_of_task, [&](std::int64_t task) {
      const std::int64_t end = std::min(roots, (task + 1) * roots_of_task);
      for (std::int64_t r = task * roots_of_task; r < end; ++r) visit(r);
    });
  }

  Past look_back(std::int64_t r) const {
    const std::size_t at = r;
    const EdgeId end = sampling_ == Sampling::tgl_compat ? last_not_later(roots_.time[at]) : roots_.before[at];
    return past_of(csr_, roots_.vertex[at], std::min(end, roots_.hidden_from));
  }

  /// The number of the first event whose time, in fp32, is later than `time`.
  EdgeId last_not_later(double time) const {
    const auto narrow = static_cast<float>(time);
    return std::partition_point(events_.time.begin(), events_.time.end(),
                                [&](double t) { return static_cast<float>(t) <= narrow; }) -
           events_.time.begin();
  }

  /// Whether the released sampler takes an entry that it looks at.
  bool compat_takes(const TimedNeighbour& entry, double time) const {
    return static_cast<float>(events_.time[entry.event]) < static_cast<float>(time) - compat_margin;
  }

  std::int64_t taken(std::int64_t r) const {
    const Past& past = past_[r];
    if (sampling_ != Sampling::tgl_compat) return std::min(k_, past.count);
    std::int64_t count = 0;
    for (std::int64_t i = past.count - 1; i > std::max<std::int64_t>(0, past.count - 1 - k_); --i)
      count += compat_takes(past.begin[i], roots_.time[r]) ? 1 : 0;
    return count;
  }

  void write(std::int64_t r, NeighbourSample& sample) const {
    const std::size_t at = r;
    const Past& past = past_[at];
    const std::int64_t first = sample.offsets[at], count = sample.offsets[at + 1] - first;
    const auto put = [&](std::int64_t slot, const TimedNeighbour& entry) {
      sample.vertex[slot] = entry.vertex;
      sample.event[slot] = entry.event;
      sample.slot_root[slot] = r;
    };
    if (sampling_ == Sampling::tgl_compat) {
      std::int64_t slot = first + count;
      for (std::int64_t i = past.count - 1; slot > first; --i)
        if (compat_takes(past.begin[i], roots_.time[at])) put(--slot, past.begin[i]);
    } else if (sampling_ == Sampling::uniform && past.count > k_) {
      const std::vector<std::int64_t> chosen = choose(roots_.number[at], past.count);
      for (std::int64_t i = 0; i < count; ++i) put(first + i, past.begin[chosen[i]]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) put(first + i, past.begin[past.count - count + i]);
    }
  }

  /// k distinct numbers below `count`, ascending (Floyd's sampling).
  std::vector<std::int64_t> choose(std::int64_t number, std::int64_t count) const {
    const RandomStream random(seed_, uniform_draws, static_cast<std::uint32_t>(number >> 32));
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = count - k_; i < count; ++i) {
      const std::uint64_t index =
          (static_cast<std::uint64_t>(number & 0xFFFFFFFF) << 16) + static_cast<std::uint64_t>(i - (count - k_));
      const std::int64_t drawn = random.below(index, static_cast<std::uint64_t>(i + 1));
      const bool taken = std::find(chosen.begin(), chosen.end(), drawn) != chosen.end();
      chosen.push_back(taken ? i : drawn);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  const EventGraph& events_;
  const TimeCsr& csr_;
  const SampleRoots& roots_;
  std::int64_t k_;
  Sampling sampling_;
  std::uint64_t seed_;
  std::vector<Past> past_;  // [R]
};

}  // namespace

Sampling sampling_of(const std::string& name) {
  if (name == "recent") return Sampling::recent;
  if (name == "uniform") return Sampling::uniform;
  if (name == "tgl_compat") return Sampling::tgl_compat;
  throw Error("no sampling is called '" + name + "'");
}

void sample_neighbours(const EventGraph& events, const TimeCsr& csr, const SampleRoots& roots, std::int64_t k,
                       Sampling sampling, std::uint64_t seed, Workers& workers, NeighbourSample& sample) {
  Sampler(events, csr, roots, k, sampling, seed).draw(workers, sample);
}

}  // namespace strobe
