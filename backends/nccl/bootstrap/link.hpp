// Frames over one TCP connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/nccl/bootstrap/patience.hpp"

namespace strobe::nccl {

struct Frame {
  enum class Kind : std::uint32_t { hello, welcome, refusal, brought, all, alarm };
  Kind kind = Kind::hello;
  std::uint32_t epoch = 0;  // gatherings completed when it was sent
  std::string text;
};

/// A connected, non-blocking socket, closed with this object. Both ends run the same program, so numbers are sent as
/// they lie in memory, after a magic number that another byte order would not have.
class Link {
 public:
  Link() = default;
  explicit Link(int socket);
  ~Link();
  Link(Link&& other) noexcept;
  Link& operator=(Link&& other) noexcept;

  /// Connected, and everything received so far was frames.
  bool alive() const { return socket_ >= 0; }
  void close();
  /// Sends, as long as `patience` lasts; on failure the link is dead afterwards.
  void send(const Frame& frame, const Patience& patience);
  /// The next frame, if all of it has arrived. A closed connection, or bytes that are no frame, end the link; frames
  /// that arrived before are still returned.
  std::optional<Frame> receive();

 private:
  void read_what_came();

  int socket_ = -1;
  std::string inbox_;
};

/// Listens at `port`, on the loopback interface when `address` is one of its names, otherwise on all. Throws
/// Unavailable when the port stays in use for as long as `patience` lasts, SystemError when listening fails for another
/// reason.
int listen_at(const std::string& address, int port, const Patience& patience);
/// The next connection, or -1 when there is none.
int accept_from(int listener);
/// A connection to `address`, or -1 with the reason; waits for one second at most.
int connect_to(const std::string& address, int port, std::string& reason);

}  // namespace strobe::nccl
