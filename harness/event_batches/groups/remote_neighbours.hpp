// Draws batches whose neighbours and features lie on several nodes: those of vertex v on node v mod the number of
// nodes. A rank asks its agent on the owner's node. Each level is one exchange of roots and one of their neighbours.
// Then the batch's distinct vertices get the times of their memory, their features and their static memory, and its
// distinct events their features, in an exchange each way. The numbers of rows are planned (RemoteRows). All sets of
// negatives share these exchanges. Messages travel during training, which takes a step of the draws now and then. All
// work between two exchanges is that of the host, like a draw that needs no messages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/node_exchange.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {

/// The number of steps that a joint draw of `data` takes (JointDraws::steps).
std::int64_t joint_draw_steps(const EventCase& c, const EventData& data);

class RemoteNeighbours final : public JointDraws {
 public:
  /// Draws from `data`, one of the case's, which must outlive it; `part` is the own node's share. `column`: this rank
  /// and its agents, by node (RemoteRows::columns).
  RemoteNeighbours(const EventCase& c, const EventData& data, Device& device, std::shared_ptr<Communicator> column,
                   std::shared_ptr<const RemoteRows> remote, std::shared_ptr<const EventPart> part,
                   std::shared_ptr<const MemoryMoments> moments);
  ~RemoteNeighbours() override;

  void start(std::int64_t sequence, const std::vector<BatchRequest>& requests,
             std::vector<std::shared_ptr<BatchDraw>> drawn) override;
  void advance() override;
  void finish(std::int64_t iteration) override;
  std::int64_t steps() const override { return joint_draw_steps(case_, data_); }

 private:
  struct Draws;  // of one iteration, under way
  struct Rested;
  using SharedDraws = std::shared_ptr<Draws>;  // also of the host's work
  /// The exchange or host work that the next step waits for.
  enum class Begun {
    preparing,
    asking,
    drawing,
    answering,
    asking_vertices,
    gathering_vertices,
    sending_vertices,
    finishing,
    asking_features,
    gathering,
    sending_features,
    placing,
    nothing
  };

  /// Waits for the exchange or the host work that the draws have begun last, and begins the next.
  void step(const SharedDraws& draws);
  /// Lets the host do `body` for the draws.
  void on_host(Draws& draws, Begun begun, const Work& work, std::function<void()> body);
  /// Lets the host take what came, with `take`, and make the next messages. `slots`: neighbours that came.
  void prepare(const SharedDraws& draws, std::int64_t slots, std::function<void()> take);
  /// Makes the draws, and asks for features of events.
  void end_levels(const SharedDraws& draws, ByNode<VertexTimes> times, ByNode<float> rows);
  /// Sends what `prepare` made.
  void ask(const SharedDraws& draws);
  void ask_features(Draws& draws);
  /// Draws the neighbours of the roots that each node asks for: first their numbers, then the neighbours.
  void draw_neighbours(Draws& draws, ByNode<RemoteRoot> roots);
  void send_neighbours(Draws& draws);
  void take_neighbours(const SharedDraws& draws, ByNode<std::int64_t> answers);
  /// Finds the times and rows of features of the vertices that each node asks for.
  void gather_vertices(Draws& draws, ByNode<std::int64_t> vertices);
  void send_vertices(Draws& draws);
  void gather_features(Draws& draws, ByNode<EdgeId> events);
  void send_features(Draws& draws);
  void take_features(const SharedDraws& draws, ByNode<float> rows);
  /// The rows of an exchange in which this rank asks; `rows_of` gives its rows of one node.
  template <class RowsOf>
  NodeCounts counts_of(const Draws& draws, const RowsOf& rows_of) const;
  /// The rows for which this rank asks all nodes.
  template <class RowsOf>
  std::int64_t asked(const Draws& draws, const RowsOf& rows_of) const;

  bool asks_vertices() const { return has_memory_ || vertex_width_ > 0; }
  bool asks_events() const { return part_->edge_width() > 0; }

  const EventCase& case_;
  const EventData& data_;
  Device& device_;
  std::shared_ptr<const RemoteRows> remote_;
  std::shared_ptr<const EventPart> part_;
  std::shared_ptr<const MemoryMoments> moments_;
  SamplingRule rule_;
  std::int64_t levels_, vertex_width_;
  bool has_memory_;
  std::int64_t rank_, node_;
  std::shared_ptr<Communicator> column_;
  std::deque<SharedDraws> under_way_;
  std::shared_ptr<Rested> rested_;
};

}  // namespace strobe
