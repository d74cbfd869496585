// The parts of models of events (docs/reference/event_models.md): time encodings, features of vertices, and one
// level of attention over recent neighbours.
#pragma once

#include <string>
#include <vector>

#include "models/events/event_model.hpp"

namespace strobe {

/// A linear layer's weight and bias as PyTorch starts them: uniform in +- 1 / sqrt(inputs).
ParameterShape linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t fan_in = 0);
ParameterShape linear_bias(const std::string& name, std::int64_t inputs, std::int64_t outputs);

/// "PREFIX.frequency" and "PREFIX.phase" [1, width]: 10^(-9 i / (width - 1)) and 0 (TGN, after TGAT).
std::vector<ParameterShape> time_encoder(const std::string& prefix, std::int64_t width);
/// Help of the option `time_encoding`.
inline constexpr const char* time_encoding_help =
    "frequencies and phases of time encodings: trained with the weights (TGAT, TGN), or left as they start "
    "(GraphMixer), which allows larger learning rates";

/// [n, width] of dt [n, 1]. `fixed`: frequencies and phases keep their start (Cong et al., GraphMixer, ICLR'23, section
/// 3.1). A trained frequency is multiplied by seconds, so that a large learning rate makes codes of long times random.
Var encode_time(Tape& tape, const Parameters& parameters, const std::string& prefix, const Tensor& dt, bool fixed);

/// "features.weight" [d_v, width] and "features.bias"; none without features of vertices. With a table as static
/// memory, "static.table" [N, d] comes before them. Its columns come after those of the features.
std::vector<ParameterShape> feature_layer(const EventWidths& widths, std::int64_t width,
                                          const StaticMemoryRequest& static_memory = {});
/// h [U, width]: memory, where there is one, plus the layer of features and of the table, where there are any; else 0.
Var vertex_input(Tape& tape, const Parameters& parameters, const EmbedInput& input, std::int64_t width,
                 const StaticMemoryRequest& static_memory = {});

/// The kind called "none", "pretrained" or "table". Throws Error for another word.
StaticMemoryRequest::Kind static_memory_kind(const std::string& name);

/// The scale called "neighbours", "head" or "leaky". Throws Error for another word.
AttentionScale attention_scale(const std::string& name);
/// Throws InvalidRequest("/model/heads", ...) where `width` columns, which the model's `option` says, have no `heads`
/// equal heads.
void check_heads(const std::string& option, std::int64_t width, std::int64_t heads);

/// One level of attention.
struct AttentionLayer {
  std::string prefix;       // of its weights: PREFIX.query, ...
  std::string merge;        // "merge.weight" or "layer1.merge", ...: names of the merging layer; "" = none
  std::int64_t input = 0;   // width of h
  std::int64_t time = 0;    // D; 0 = the model gets no times
  std::int64_t output = 0;  // F
  std::int64_t heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  double dropout = 0;
  bool fixed_time = false;  // encode_time
  std::uint32_t level = 0;  // keeps dropouts apart

  std::vector<ParameterShape> parameters(std::int64_t edge_width) const;
  /// Embeddings [R, F] of the level's roots from h [rows, input].
  Var embed(Tape& tape, const Parameters& parameters, const Var& h, const NeighbourLevel& level,
            const Pass& pass) const;

 private:
  Var query(Tape& tape, const Parameters& parameters, const Var& roots) const;
  Var codes(Tape& tape, const Parameters& parameters, const NeighbourLevel& level) const;
  Var attended_without_codes(Tape& tape, const Parameters& parameters, const Var& h, const Var& roots,
                             const NeighbourLevel& level, const NeighbourDropout& dropped) const;
  Var attended(Tape& tape, const Parameters& parameters, const Var& h, const Var& roots, const NeighbourLevel& level,
               const NeighbourDropout& dropped) const;
  Var merged(Tape& tape, const Parameters& parameters, const Var& seen, const Var& roots, const NeighbourLevel& level,
             const Pass& pass) const;
  std::string merge_part(const char* part) const;
};

}  // namespace strobe
