// Parts of a model of events from a file, for example written by strobe.events_from_torch of the Python package. They
// take the places of tgn-attn's own parts. docs/howto/own_pytorch_event_model.md describes the file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/events/event_model.hpp"
#include "models/snapshots/captured_graph.hpp"

namespace strobe {

/// The parts that a file has. Without a file it has none, and tgn-attn computes with its own.
struct EventParts {
  std::string source;              // names the file in messages
  std::int64_t edge_features = 0;  // that the parts read of an event
  std::optional<CapturedPart> message;
  std::optional<CapturedPart> updater;
  std::optional<CapturedPart> embedding;
  std::vector<SavedMatrix> own;  // where weights of tgn-attn's own parts start, by name
};

/// Reads the folder or file `path`; "": no parts. `memory` and `time` are the model's widths. Throws InvalidRequest
/// where the file has others, and InvalidInput.
EventParts read_event_parts(const std::string& path, std::int64_t memory, std::int64_t time);

/// Appends the weights of a part.
void add_weights(const CapturedPart& part, std::vector<ParameterShape>& shapes);

/// Lets the weights of tgn-attn's own parts start where the file says. Throws InvalidInput for a weight that is none of
/// `shapes`, or has another shape.
void start_from(const EventParts& parts, std::vector<ParameterShape>& shapes);

/// Makes the input of a name.
using PartInput = std::function<Var(const std::string&)>;

/// The part's result. `input` is called once for each input that the part reads.
Var run_part(Tape& tape, const Parameters& parameters, const CapturedPart& part, const PartInput& input);

/// The same for an embedding, whose values have a row for each root or slot of `level`. Result [R, F].
Var run_embedding(Tape& tape, const Parameters& parameters, const CapturedPart& part, const PartInput& input,
                  const NeighbourLevel& level);

}  // namespace strobe
