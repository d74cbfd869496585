// Stand-ins for tests of the harness: a device that only accounts, collectives of one rank without the others that
// record their calls, a layer with temporal state, and plans executed by hand.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/shapes_device.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/snapshots/model.hpp"

namespace strobe::test {

/// One rank's device without values, in fp64.
class AccountingDevice final : public ShapesDevice {
 public:
  AccountingDevice(Rank rank, int ranks) : ShapesDevice(request_of(rank, ranks)) {}

 private:
  static DeviceRequest request_of(Rank rank, int ranks) {
    DeviceRequest request;
    request.rank = rank;
    request.ranks = ranks;
    request.precision = ElementType::f64;
    request.values = false;
    return request;
  }
};

/// One rank's side of collectives without the other ranks. It computes no values and never waits. It records the order
/// of starts and waits, with the numbers of rows sent and received.
class SingleRankCommunicator final : public Communicator {
 public:
  SingleRankCommunicator(Device& device, int ranks) : Communicator(device, device.rank(), ranks, 0) {}
  bool lists_peers() const override { return true; }

  /// "start SENT>RECEIVED" and "wait SENT>RECEIVED".
  std::vector<std::string> calls;

 private:
  std::shared_ptr<void> do_start(const Collective& collective) override {
    auto rows = std::make_shared<std::string>(std::to_string(collective.sends->totals().rows) + ">" +
                                              std::to_string(collective.receives->totals().rows));
    calls.push_back("start " + *rows);
    return rows;
  }
  Completion do_wait(const Collective&, const std::shared_ptr<void>& rows) override {
    calls.push_back("wait " + *std::static_pointer_cast<std::string>(rows));
    return {};
  }
};

/// The only rank of a run: sums and gathered values are its own.
class OnlyRank final : public Communicator {
 public:
  explicit OnlyRank(Device& device) : Communicator(device, 0, 1, 0) {}

 private:
  std::shared_ptr<void> do_start(const Collective& collective) override {
    if (collective.kind == CollectiveKind::all_gather_v) {
      const Tensor& own = collective.send;
      device().run(CopyRows{own, collective.receive, {}, {}, own.rows(), 0, 0, own.columns(), false});
    }
    return nullptr;
  }
  Completion do_wait(const Collective&, const std::shared_ptr<void>&) override { return {}; }
};

/// A layer with a temporal state of `blocks` rows of 7 columns for each vertex.
inline LayerShape remembering_layer(std::int64_t blocks) {
  LayerShape layer;
  layer.need = TemporalNeed::recurrent;
  layer.recurrent_state = {blocks, 7};
  return layer;
}

using Cells = std::vector<std::pair<Step, VertexId>>;

/// The cells of a rank in local order, as (step, vertex).
inline Cells cells(const Placement& placement, Rank rank) {
  Cells result;
  for (Step t = 0; t < placement.steps(); ++t) {
    for (VertexId v = 0; v < placement.vertices; ++v) {
      if (placement.owner(v, t) == rank) result.emplace_back(t, v);
    }
  }
  return result;
}

inline void apply_moves(const std::vector<RowMove>& moves, const Cells& from, Cells& to) {
  for (const RowMove& move : moves) {
    for (std::int64_t i = 0; i < move.rows; ++i) {
      to.at(move.to + i) = from.at(move.from + i);
    }
  }
}

/// The cells that each rank sends to each rank: [P][P].
inline std::vector<std::vector<Cells>> sent_cells(const ExchangePlan& plan, const std::vector<Cells>& inputs) {
  std::vector<std::vector<Cells>> wire;
  for (Rank r = 0; r < plan.rank_count; ++r) {
    const PeerSide& side = plan.of(r).send;
    const Cells& input = inputs[r];
    Cells buffer(static_cast<std::size_t>(side.total));
    apply_moves(side.list, input, buffer);
    wire.emplace_back();
    std::int64_t next = 0;
    for (const PeerRows& peer : rows_of_ranks(side.parts(), plan.rank_count)) {
      // Parts give places of rows in the tensor when sent in place, and otherwise in the buffer.
      const Cells& from = side.in_place ? input : buffer;
      wire.back().emplace_back(from.begin() + peer.first, from.begin() + peer.first + peer.count);
      if (!std::equal(wire.back().back().begin(), wire.back().back().end(), buffer.begin() + next)) {
        throw Error("a plan's parts and lists name different rows");
      }
      next += peer.count;
    }
  }
  return wire;
}

/// Moves cell names by a plan's lists as a communicator would; returns each rank's output cells.
inline std::vector<Cells> carry(const ExchangePlan& plan, const std::vector<Cells>& inputs) {
  const std::vector<std::vector<Cells>> wire = sent_cells(plan, inputs);
  std::vector<Cells> outputs;
  for (Rank r = 0; r < plan.rank_count; ++r) {
    const RankExchange& side = plan.of(r);
    Cells& output = outputs.emplace_back(static_cast<std::size_t>(side.output_rows), std::pair<Step, VertexId>{-1, -1});
    apply_moves(side.keep, inputs[r], output);
    Cells buffer;
    for (Rank q = 0; q < plan.rank_count; ++q) {
      const Cells& came = wire[q][r];
      if (static_cast<std::int64_t>(came.size()) != side.receive.rows_of(q)) throw Error("a plan's sides disagree");
      buffer.insert(buffer.end(), came.begin(), came.end());
    }
    apply_moves(side.receive.list, buffer, output);
  }
  return outputs;
}

}  // namespace strobe::test
