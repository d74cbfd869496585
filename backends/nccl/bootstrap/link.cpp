// Invariants: no call waits longer than its patience, or a second; every socket is closed by its owner and on exec.
#include "backends/nccl/bootstrap/link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace strobe::nccl {
namespace {

constexpr std::uint32_t magic = 0x53544e43;
constexpr std::uint32_t most_bytes = 1u << 28;

struct Header {
  std::uint32_t magic, kind, epoch, bytes;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const char* address, int port, int flags, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address, std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) reason = fmt::format("{}: {}", address == nullptr ? "any" : address, ::gai_strerror(error));
  return {error == 0 ? found : nullptr, [](addrinfo* list) {
            if (list != nullptr) ::freeaddrinfo(list);
          }};
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.rfind("127.", 0) == 0;
}

int open_socket(const addrinfo& at) {
  return ::socket(at.ai_family, at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at.ai_protocol);
}

/// A listening socket at the first of the addresses that has one, or -1 with errno.
int listen_once(const addrinfo* addresses) {
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    const int listener = open_socket(*at);
    if (listener < 0) continue;
    const int on = 1, off = 0;
    (void)::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->ai_family == AF_INET6) (void)::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    constexpr int backlog = 1024;
    if (::bind(listener, at->ai_addr, at->ai_addrlen) == 0 && ::listen(listener, backlog) == 0) return listener;
    error = errno;
    ::close(listener);
    if (error == EADDRINUSE) break;
  }
  errno = error;
  return -1;
}

}  // namespace

Link::Link(int socket) : socket_(socket) {
  const int on = 1;
  (void)::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  (void)::setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}
Link::~Link() { close(); }
Link::Link(Link&& other) noexcept : socket_(std::exchange(other.socket_, -1)), inbox_(std::move(other.inbox_)) {}
Link& Link::operator=(Link&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(inbox_, other.inbox_);
  return *this;
}

void Link::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Link::send(const Frame& frame, const Patience& patience) {
  const Header header{magic, static_cast<std::uint32_t>(frame.kind), frame.epoch,
                      static_cast<std::uint32_t>(frame.text.size())};
  std::string bytes(sizeof(header), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes += frame.text;
  for (std::size_t sent = 0; alive() && sent < bytes.size();) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      close();
    } else if (patience.over()) {
      close();
    } else {
      pollfd ready{socket_, POLLOUT, 0};
      (void)::poll(&ready, 1, 10);
    }
  }
}

void Link::read_what_came() {
  char part[16384];
  while (alive()) {
    const ssize_t count = ::recv(socket_, part, sizeof(part), 0);
    if (count > 0) {
      inbox_.append(part, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
      close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::optional<Frame> Link::receive() {
  read_what_came();
  Header header{};
  if (inbox_.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, inbox_.data(), sizeof(header));
  if (header.magic != magic || header.bytes > most_bytes) {
    close();
    inbox_.clear();
    return std::nullopt;
  }
  if (inbox_.size() < sizeof(header) + header.bytes) return std::nullopt;
  Frame frame{static_cast<Frame::Kind>(header.kind), header.epoch, inbox_.substr(sizeof(header), header.bytes)};
  inbox_.erase(0, sizeof(header) + header.bytes);
  return frame;
}

int listen_at(const std::string& address, int port, const Patience& patience) {
  std::string reason;
  const bool loopback = is_loopback(address);
  const Addresses addresses = resolve(loopback ? address.c_str() : nullptr, port, AI_PASSIVE, reason);
  if (addresses == nullptr) throw SystemError("nccl: cannot listen: " + reason);
  for (;;) {
    const int listener = listen_once(addresses.get());
    if (listener >= 0) return listener;
    if (errno != EADDRINUSE)
      throw SystemError(fmt::format("nccl: cannot listen at port {}: {}", port, std::strerror(errno)));
    if (patience.over()) {
      throw Unavailable(
          fmt::format("communicator nccl: port {} is in use on the host of rank 0; choose a free one with "
                      "STROBE_NCCL_PORT (the same for all ranks)",
                      port));
    }
    patience.pause();
  }
}

int accept_from(int listener) { return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int connect_to(const std::string& address, int port, std::string& reason) {
  const Addresses addresses = resolve(address.c_str(), port, 0, reason);
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    const int connection = open_socket(*at);
    if (connection < 0) continue;
    int error = ::connect(connection, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd ready{connection, POLLOUT, 0};
      socklen_t size = sizeof(error);
      error = ETIMEDOUT;
      if (::poll(&ready, 1, 1000) == 1) (void)::getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return connection;
    reason = std::strerror(error);
    ::close(connection);
  }
  return -1;
}

}  // namespace strobe::nccl
