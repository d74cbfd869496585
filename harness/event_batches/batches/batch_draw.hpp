// The structure of a batch of events: its roots, their neighbours, the distinct vertices among them, and the vertices
// whose memory it writes. The host draws it, even in a simulation without values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/system/parallel.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/batches/memory_clock.hpp"
#include "harness/event_batches/batches/vertex_numbers.hpp"

namespace strobe {

/// A request for the draw of the events [first, first + count).
struct BatchRequest {
  EdgeId first = 0;
  std::int64_t count = 0;
  EdgeId batch_first = 0;       // first event of the whole batch; events before it are the batch's history
  bool scores = true;           // draw roots with candidates and neighbours; false: only the events' own ends
  std::int64_t group = -1;      // group of training negatives; -1 = candidates of an evaluation
  std::int64_t candidates = 0;  // of an evaluation, without the destination; -1 = all
  bool writes = true;           // memory and mails of the events' ends are written
  /// Events of the whole batch when other ranks compute its rest; 0 = there are no other ranks. The last mail of a
  /// vertex in the batch stays, so the rank that computes the vertex's last event writes it.
  std::int64_t batch_count = 0;
  /// [count] One candidate of each event (-1: none), in place of those that the task draws. Null: the task's.
  std::shared_ptr<const std::vector<VertexId>> others = nullptr;
};

/// One level of neighbours (NeighbourLevel), on the host.
struct DrawnLevel {
  std::int64_t roots = 0;
  std::vector<std::int64_t> root_rows;                 // [R]; empty: the input's first R rows
  std::vector<std::int64_t> slot_rows;                 // [S]
  std::vector<std::int64_t> offsets;                   // [R + 1]
  std::vector<double> dt;                              // [S]
  std::vector<EdgeId> events;                          // [S]
  std::vector<std::int64_t> numbers;                   // [R]
  std::vector<std::int64_t> slot_roots, slot_numbers;  // [S], of models that list slots
  std::int64_t slots() const { return static_cast<std::int64_t>(slot_rows.size()); }
};

struct BatchDraw {
  BatchRequest request;
  std::int64_t candidates = 1;          // C, columns of each event
  std::vector<std::int64_t> counts;     // [E] columns with a candidate; later ones repeat the destination as padding
  std::vector<std::int64_t> vertices;   // [U] vertices with a mail come first
  std::int64_t mails = 0;               // M
  std::vector<double> mail_dt;          // [M]
  std::vector<EdgeId> mail_events;      // [M]
  std::vector<DrawnLevel> levels;       // innermost first
  std::vector<std::int64_t> root_rows;  // [R] rows of U; only for models without levels
  std::vector<double> root_dt;          // [R]
  /// [E C] Codes of each pair's past, one list for each table of the decoder; empty where the task reads none.
  std::array<std::vector<std::int64_t>, 2> pair_codes;
  /// [W] The distinct ends of the batch's events. Each has its vertex, its row of U, and the row of the other end of
  /// its last event.
  std::vector<std::int64_t> written, own_rows, other_rows;
  /// Edge features from other nodes: of the mails' events [M, d_e], then of each level's [S, d_e], innermost first.
  /// Empty when the rank reads features itself.
  std::vector<std::vector<float>> edge_features;
  /// [U, d_v] Features of the vertices and their static memory, from other nodes.
  std::optional<std::vector<float>> vertex_features;

  /// R: the events' sources, then their candidates, event by event, the destination first.
  std::int64_t roots() const { return request.count * (1 + candidates); }
};

/// Tasks of the host share a draw, because they read it after it was submitted.
using SharedDraw = std::shared_ptr<const BatchDraw>;

/// Draws batches of one case from the events `data`. Each rank needs its own drawer, because it keeps buffers. The case
/// and `data` must outlive it.
class BatchDrawer {
 public:
  /// `in_parts`: it knows the vertices of its draw alone, and has no table of all vertices.
  BatchDrawer(const EventCase& c, const EventData& data, bool in_parts = false);
  /// Draws the requested batch with mails and times as in `clock`. If the request writes and no other rank has a part
  /// of the batch, it advances the clock past the batch. Throws InvalidRequest for an event without a negative.
  void draw(const BatchRequest& request, MemoryClock& clock, Workers& workers, BatchDraw& drawn);

  /// In parts: the same draw with mails and times from the events of each vertex. It changes no clock.
  void draw(const BatchRequest& request, const MemoryMoments& moments, std::int64_t sequence, Workers& workers,
            BatchDraw& drawn);

  /// The same draw in steps, for neighbours that others draw: `begin`; then `ask` and `answer` for each level from the
  /// outermost; then `finish`. In parts, `distinct` comes before, and `clock` has the distinct vertices in their order.
  void begin(const BatchRequest& request, BatchDraw& drawn);
  /// The roots of level `level`; valid until `answer`.
  SampleRoots ask(std::size_t level);
  /// Neighbours of the roots that `ask` gave.
  void answer(std::size_t level, NeighbourSample sample);
  /// The distinct vertices of the draw, in the order in which it asked for them.
  const std::vector<VertexId>& distinct();
  void finish(MemoryClock& clock, BatchDraw& drawn);
  /// In parts: the place of a vertex among the distinct ones.
  std::size_t place_of(VertexId vertex);
  /// Vertices of the last draw: the roots, then the slots of each level, outermost first.
  const std::vector<VertexId>& asked() const { return asked_.vertex; }

 private:
  struct Asked {
    std::vector<VertexId> vertex;
    std::vector<EdgeId> before, asked_at;  // number of visible events; the event whose time is the root's
    std::vector<std::int64_t> number;
    std::vector<double> time;
  };

  /// When a root asks.
  struct Moment {
    EdgeId event = 0;   // whose time it is
    EdgeId before = 0;  // number of visible events
    double time = 0;    // seconds since the first event
  };

  /// Facts about a vertex in the draw that is being finished.
  struct Marks {
    std::uint32_t row = 0;      // of the vertex in U
    std::uint32_t seen = 0;     // the draw that set `row`
    std::uint32_t written = 0;  // the draw that wrote the vertex
  };
  /// Draws in parts have the distinct vertices of the draw here, other draws all vertices.
  struct Tables {
    std::vector<Marks> marks;  // [N]
    std::uint32_t draws = 0;

    void make_room(std::size_t vertices) {
      if (marks.size() < vertices) marks.resize(vertices);
    }
  };

  void sample_levels(Workers& workers);
  void ask_events(const BatchRequest& request, BatchDraw& drawn);
  void find_pair_codes(BatchDraw& drawn) const;
  Moment moment_of(EdgeId event) const;
  void add(VertexId vertex, const Moment& moment, std::int64_t number);
  void number_vertices(const MemoryClock& clock, BatchDraw& drawn);
  void find_rows(const MemoryClock& clock, BatchDraw& drawn);
  void find_writes(const BatchRequest& request, BatchDraw& drawn);
  std::int64_t row_of(std::size_t asked) const;
  /// The place of an asked vertex in the tables and in the clock.
  VertexId place(std::size_t asked) const { return place_of_asked_[asked]; }

  const EventCase& case_;
  const EventData& data_;
  const EventModelTraits traits_;
  BatchRequest request_;                   // of the last draw
  Asked asked_;                            // roots, then the slots of each level, outermost first
  std::vector<NeighbourSample> samples_;   // outermost first
  std::vector<double> moments_;            // times of the roots as in the file
  std::vector<std::size_t> level_roots_;   // number of roots of each level, outermost first; a prefix of `asked_`
  std::vector<std::uint32_t> asked_row_;   // [asked] row of U, if every root and slot has a row of its own
  std::vector<std::size_t> without_mail_;  // [U - M] where in `asked_` vertices without a mail are met first
  bool in_parts_;
  VertexNumbers numbers_;                     // in parts
  std::vector<VertexId> places_;              // [asked] in parts
  const VertexId* place_of_asked_ = nullptr;  // [asked] of `places_`, or the vertices themselves
  Tables tables_;
};

}  // namespace strobe
