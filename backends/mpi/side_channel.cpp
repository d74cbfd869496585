// Sends are non-blocking and small enough to be buffered by MPI, so a peer that is busy, or gone, holds nobody up.
// Cost: one MPI_Iprobe per millisecond of waiting; 2 (ranks asked) messages per question.
#include "backends/mpi/side_channel.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "backends/mpi/mpi_call.hpp"
#include "backends/mpi/runtime.hpp"

namespace strobe::mpi {
namespace {

constexpr int tag_question = 1, tag_answer = 2, tag_failure = 3;

}  // namespace

SideChannel::~SideChannel() {
  outgoing_.remove_if([](Outgoing& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
  });
  if (!outgoing_.empty()) Runtime::abandon(std::make_shared<std::list<Outgoing>>(std::move(outgoing_)));
}

void SideChannel::send(const void* bytes, std::size_t size, int to, int tag) {
  outgoing_.remove_if([](Outgoing& sent) { return test(sent.request); });
  Outgoing& message = outgoing_.emplace_back();
  message.bytes.assign(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + size);
  check(MPI_Isend(message.bytes.data(), static_cast<int>(size), MPI_BYTE, to, tag, communicator_, &message.request),
        "MPI_Isend");
}

void SideChannel::serve() {
  for (;;) {
    int arrived = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &arrived, &status), "MPI_Iprobe");
    if (arrived == 0) return;
    receive(status);
  }
}

void SideChannel::serve_sometimes(Clock::time_point now) {
  if (now < next_serve_) return;
  next_serve_ = now + std::chrono::milliseconds(1);
  serve();
}

void SideChannel::receive(const MPI_Status& status) {
  const int from = status.MPI_SOURCE;
  const auto take = [&](void* bytes, std::size_t size) {
    check(MPI_Recv(bytes, static_cast<int>(size), MPI_BYTE, from, status.MPI_TAG, communicator_, MPI_STATUS_IGNORE),
          "MPI_Recv");
  };
  if (status.MPI_TAG == tag_failure) {
    FailureReport report;
    take(&report, sizeof(report));
    if (!peer_failure_) peer_failure_ = report;
    return;
  }
  Note note;
  take(&note, sizeof(note));
  if (status.MPI_TAG == tag_question) {
    const Note answer{note.question, note.session, entered_[note.session]};
    send(&answer, sizeof(answer), from, tag_answer);
  } else if (note.question == question_ && !answers_.empty()) {
    answers_[from] = note.number;
  }
}

void SideChannel::announce(const FailureReport& report) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) send(&report, sizeof(report), peer, tag_failure);
  }
}

std::vector<int> SideChannel::ask_missing(const std::vector<int>& ranks, std::int64_t session, std::int64_t collective,
                                          Clock::duration grace) {
  const Note question{++question_, session, collective};
  answers_.assign(size_, -1);
  answers_[rank_] = entered_[session];
  for (const int peer : ranks) {
    if (peer != rank_) send(&question, sizeof(question), peer, tag_question);
  }
  const auto answer_of = [this](int peer) { return answers_[peer]; };
  const auto silent = [&](int peer) { return answer_of(peer) < 0; };
  const Clock::time_point until = Clock::now() + grace;
  while (Clock::now() < until && std::any_of(ranks.begin(), ranks.end(), silent)) {
    serve();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::vector<int> missing;
  for (const int peer : ranks) {
    if (answer_of(peer) <= collective) missing.push_back(peer);
  }
  return missing;
}

std::vector<int> SideChannel::silent_ranks() {
  std::vector<int> everyone(size_);
  std::iota(everyone.begin(), everyone.end(), 0);
  return ask_missing(everyone, 0, -1, std::chrono::seconds(1));
}

}  // namespace strobe::mpi
