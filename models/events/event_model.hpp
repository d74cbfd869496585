// Model of events: it updates the memory of vertices from their mails and embeds vertices at a moment from their recent
// neighbours (docs/reference/event_models.md). It knows neither ranks nor where memory lies. Its caller draws the
// batch, reads and writes memory, and scores.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registry.hpp"
#include "models/ops/ops_events.hpp"
#include "models/tape/parameters.hpp"
#include "models/tape/pass.hpp"
#include "workloads/continuous/neighbour_sample.hpp"

namespace strobe {

/// Widths of the data's features; 0 = none.
struct EventWidths {
  std::int64_t edge = 0;
  std::int64_t vertex = 0;    // features, followed by the columns of a pre-trained static memory
  std::int64_t vertices = 0;  // N
};

/// A vector of each vertex that no event changes (DistTGL, section 3.1), in addition to the memory that events change.
struct StaticMemoryRequest {
  enum class Kind : std::uint8_t {
    none,
    pretrained,  // trained beforehand on the static graph of the training events, then frozen
    table,       // a parameter, trained with all others
  };
  Kind kind = Kind::none;
  std::int64_t width = 0;   // d
  std::int64_t epochs = 0;  // of the training beforehand
  double rate = 0;          // its learning rate
  std::int64_t neighbours = 0, heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  bool merges = false;  // whether the attention's sum is merged with the root's own vector
};

/// The facts about a model that the harness needs in addition to its equations.
struct EventModelTraits {
  std::int64_t memory = 0;      // d; 0 = no memory and no mails
  std::int64_t embedding = 0;   // F
  int levels = 1;               // of attention; 0 = no neighbours are drawn
  std::int64_t neighbours = 0;  // k
  Sampling sampling = Sampling::recent;
  bool sees_own_batch = true;        // earlier events of the own batch are neighbours (intra_batch_history=sampler)
  bool mail_dt_of_asker = false;     // mail_dt=event_minus_memory
  bool key_dt_of_memory = true;      // key_dt=memory; else the event's time
  bool binary_loss = false;          // loss=bce
  bool fixed_time_encoding = false;  // time_encoding=fixed
  bool stochastic = false;           // drops something in training
  bool lists_slots = false;          // NeighbourLevel::slot_roots and slot_numbers are read
  StaticMemoryRequest static_memory;
};

/// Mails of M vertices, with what each is applied to.
struct MailInput {
  Tensor memory;  // [M, d]
  Tensor mail;    // [M, 2 d] own memory next to the other end's
  Tensor dt;      // [M, 1]
  Tensor edge;    // [M, d_e] features of the mail's event; undefined without
};

/// One level of neighbours: R roots, rows of the level's input, and the S slots they look at.
struct NeighbourLevel {
  std::int64_t roots = 0;
  Tensor root_rows;     // i64 [R, 1]; undefined: the input's first R rows
  RootSlots slots;      // rows: of the level's input
  Tensor dt;            // [S, 1] of keys
  Tensor edge;          // [S, d_e] or undefined
  Tensor numbers;       // i64 [R, 1] what dropout is keyed by; of stochastic models
  Tensor slot_roots;    // i64 [S, 1] the root of each slot; of models that list slots
  Tensor slot_numbers;  // i64 [S, 1] 0, 1, ..., S - 1; the same
};

/// The inputs from which roots are embedded. The first level reads the batch's U distinct vertices; every other level
/// reads the embeddings of the level before.
struct EmbedInput {
  Var memory;                          // [U, d] updated, or null
  Tensor features;                     // [U, d_v] or undefined
  Tensor vertex_numbers;               // i64 [U, 1]
  std::vector<NeighbourLevel> levels;  // innermost first
  std::int64_t vertices = 0;           // U
  Tensor root_rows;                    // i64 [R, 1] of U, of the batch's roots; of models without levels
  Tensor root_dt;                      // [R, 1] the same for a root: its share of the time since its memory's update
  Pass pass;
};

class EventModel {
 public:
  virtual ~EventModel() = default;
  virtual EventModelTraits traits() const = 0;
  virtual std::vector<ParameterShape> parameters(const EventWidths& widths) const = 0;
  /// Memory [M, d] after the mails; only of models with memory.
  virtual Var update(Tape&, const Parameters&, const MailInput&) const { throw Error("this model has no memory"); }
  /// Embeddings [R, F] of the batch's roots.
  virtual Var embed(Tape& tape, const Parameters& parameters, const EmbedInput& input) const = 0;
};

struct EventModelTag {
  static constexpr const char* kind = "model of events";
  using Value = std::unique_ptr<EventModel> (*)(const Json& parameters);
};
using EventModelRegistry = Registry<EventModelTag>;

}  // namespace strobe
