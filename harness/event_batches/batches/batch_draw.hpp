// The structure of a batch of events: its roots, their neighbours, the distinct vertices among them, and whose memory
// it writes. Drawn on the host, real even where values are not.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/system/parallel.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/batches/memory_clock.hpp"

namespace strobe {

/// What is asked of the events [first, first + count).
struct BatchWish {
  EdgeId first = 0;
  std::int64_t count = 0;
  EdgeId batch_first = 0;       // of the batch that they are part of: where its own history begins
  bool scores = true;           // roots with candidates and neighbours; else the events' own ends alone
  std::int64_t group = -1;      // of training's negatives; -1 = candidates of an evaluation
  std::int64_t candidates = 0;  // of an evaluation, beside the destination; -1 = all
  bool writes = true;           // memory and mails of the events' ends
  /// Events of the whole batch, of which others compute the rest; 0 = there are no others. Of several mails of a vertex
  /// the batch's last one stays, so a vertex is written by who computes its last event.
  std::int64_t batch_count = 0;
  /// [count] One candidate of each event (-1: none), which replaces those that the task draws. Null: the task's.
  std::shared_ptr<const std::vector<VertexId>> others = nullptr;
};

/// One level of neighbours (NeighbourLevel), on the host.
struct DrawnLevel {
  std::int64_t roots = 0;
  std::vector<std::int64_t> root_rows;  // [R]; empty: the input's first R rows
  std::vector<std::int64_t> slot_rows;  // [S]
  std::vector<std::int64_t> offsets;    // [R + 1]
  std::vector<double> dt;               // [S]
  std::vector<EdgeId> events;           // [S]
  std::vector<std::int64_t> numbers;    // [R]
  std::int64_t slots() const { return static_cast<std::int64_t>(slot_rows.size()); }
};

struct BatchDraw {
  BatchWish wish;
  std::int64_t candidates = 1;          // C, columns of each event
  std::vector<std::int64_t> counts;     // [E] of these, how many are candidates of the event; the others repeat
  std::vector<std::int64_t> vertices;   // [U] those with a mail first
  std::int64_t mails = 0;               // M
  std::vector<double> mail_dt;          // [M]
  std::vector<EdgeId> mail_events;      // [M]
  std::vector<DrawnLevel> levels;       // innermost first
  std::vector<std::int64_t> root_rows;  // [R] of U; of models without levels
  std::vector<double> root_dt;          // [R]
  /// Of W distinct ends of the batch's events: vertex, and rows of U of itself and of the other end of its last event.
  std::vector<std::int64_t> written, own_rows, other_rows;

  /// R: the events' sources, then their candidates, event by event, the destination first.
  std::int64_t roots() const { return wish.count * (1 + candidates); }
};

/// A draw is shared by the pieces of the host's work that read it, which run later than they are given.
using SharedDraw = std::shared_ptr<const BatchDraw>;

/// Draws batches of one case, of the events `data`, one after the other; keeps room of its own, so it is one rank's.
/// Both must outlive it.
class BatchDrawer {
 public:
  BatchDrawer(const EventCase& c, const EventData& data);
  /// Draws what `wish` asks for, as `clock` stands; with `writes`, and nobody beside it, the clock then stands behind
  /// the batch. Throws InvalidRequest where an event leaves no negative.
  void draw(const BatchWish& wish, MemoryClock& clock, Workers& workers, BatchDraw& drawn);

 private:
  struct Asked {
    std::vector<VertexId> vertex;
    std::vector<EdgeId> before, asked_at;  // events that count; the event whose time is the moment
    std::vector<std::int64_t> number;
    std::vector<double> time;
  };

  void ask_events(const BatchWish& wish, BatchDraw& drawn);
  void add(VertexId vertex, EdgeId event, const BatchWish& wish, std::int64_t number);
  void sample_levels(const BatchWish& wish, Workers& workers, BatchDraw& drawn);
  void number_vertices(const MemoryClock& clock, BatchDraw& drawn);
  void find_rows(const MemoryClock& clock, BatchDraw& drawn);
  void find_writes(const BatchWish& wish, BatchDraw& drawn);
  std::int64_t row_of(std::size_t asked) const;

  const EventCase& case_;
  const EventData& data_;
  const EventModelTraits traits_;
  Asked asked_;                           // roots, then the slots of each level, outermost first
  std::vector<NeighbourSample> samples_;  // outermost first
  std::vector<double> moments_;           // of what is asked, as in the file
  std::vector<std::size_t> level_roots_;  // roots of each, outermost first: the first so many of `asked_`
  std::vector<std::int64_t> row_;         // [N] row of a vertex in U
  std::vector<std::int64_t> seen_;        // [N] the draw that gave it
  std::vector<std::int64_t> written_;     // [N] the draw that wrote it
  std::vector<std::int64_t> asked_row_;   // [asked] row of U, where each asker has its own
  std::int64_t draws_ = 0;
};

}  // namespace strobe
