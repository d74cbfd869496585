// Places in the stores follow from numbers: those of the rows that each owner pushes to each server, and gets back from
// it. Each owner numbers its own rows, and tells the places to their readers and to the servers. Invariant: moves of a
// pair of ranks come in the order of the whole route: owner by owner, then reader by reader.
#include "harness/full_batch/exchange/route_in_parts.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "harness/full_batch/exchange/flat_rows.hpp"
#include "workloads/partitioners/share_holders.hpp"

namespace strobe {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string bytes_of(const Numbers& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)};
}

Numbers numbers_of(const std::string& bytes) {
  Numbers numbers(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::int64_t));
  return numbers;
}

/// Reads the numbers of a letter in order.
class Letter {
 public:
  explicit Letter(const std::string& bytes) : numbers_(numbers_of(bytes)) {}
  std::int64_t next() { return numbers_.at(at_++); }
  bool ends() const { return at_ == numbers_.size(); }

 private:
  Numbers numbers_;
  std::size_t at_ = 0;
};

/// Rows of one owner as a reader or a server hears of them.
struct Told {
  struct Row {
    std::int64_t server = 0, place = 0;
  };
  struct Reader {
    Rank rank = 0;
    Numbers places;  // in this server's store
  };
  std::vector<Row> rows;        // that this rank reads
  Numbers back;                 // [servers] first place of their gradients
  std::vector<Reader> readers;  // of the rows that this server has
};

class RouteInParts {
 public:
  RouteInParts(const ExchangePlan& plan, const ListScope& scope)
      : plan_(plan),
        scope_{ListScope::Kind::one, scope.rank, 0, true},
        own_(scope.rank),
        ranks_(plan.rank_count),
        servers_(scope.servers),
        together_(*scope.together),
        sent_(plan.of(own_).send, ranks_, &RowMove::from),
        received_(plan.of(own_).receive, ranks_, &RowMove::to),
        server_at_(static_cast<std::size_t>(ranks_), -1) {
    for (int k = 0; k < servers_; ++k) server_at_[rank_at(k)] = k;
    count_own();
    tell();
  }

  ServerRoute route() const {
    ServerRoute route;
    route.servers = servers_;
    route.push = push();
    route.pull = pull();
    route.push_back = push_back();
    route.pull_back = pull_back();
    return route;
  }

 private:
  Rank rank_at(int server) const { return rank_of_server(server, servers_, ranks_); }
  int server_of(std::int64_t row) const { return server_of_row(own_, row, servers_); }
  int own_server() const { return server_at_[own_]; }

  /// The numbers of every rank, one after the other.
  Numbers all_of(const Numbers& own) const {
    Numbers all;
    const std::vector<std::string> came =
        together_.exchange([&] { return std::vector<std::string>(static_cast<std::size_t>(ranks_), bytes_of(own)); });
    for (const std::string& bytes : came) {
      const Numbers numbers = numbers_of(bytes);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
  }
  /// A number of a rank and a server.
  std::int64_t of(const Numbers& all, Rank rank, int server) const { return all[rank * servers_ + server]; }
  /// The sum over the ranks before `rank`.
  std::int64_t before(const Numbers& all, Rank rank, int server) const {
    std::int64_t sum = 0;
    for (Rank r = 0; r < rank; ++r) sum += of(all, r, server);
    return sum;
  }

  void count_own() {
    pushed_ = sent_.rows();
    std::sort(pushed_.begin(), pushed_.end());
    pushed_.erase(std::unique(pushed_.begin(), pushed_.end()), pushed_.end());
    Numbers distinct(static_cast<std::size_t>(servers_), 0), sent(distinct);
    for (const std::int64_t row : pushed_) ++distinct[server_of(row)];
    for (const std::int64_t row : sent_.rows()) ++sent[server_of(row)];
    pushed_to_ = all_of(distinct);
    sent_by_ = all_of(sent);
    Numbers next;
    for (int k = 0; k < servers_; ++k) next.push_back(before(pushed_to_, own_, k));
    for (const std::int64_t row : pushed_) place_.push_back(next[server_of(row)]++);
  }

  std::int64_t place_of(std::int64_t row) const {
    return place_[std::lower_bound(pushed_.begin(), pushed_.end(), row) - pushed_.begin()];
  }

  /// To a reader: its rows with server and place, and where their gradients begin. Then, to a server: of each reader
  /// the places of its rows there.
  std::vector<std::string> letters() const {
    std::vector<Numbers> to(static_cast<std::size_t>(ranks_), Numbers{0});
    Numbers back;
    for (int k = 0; k < servers_; ++k) back.push_back(before(sent_by_, own_, k));
    for (const FlatRows::Peer& reader : sent_.peers()) {
      Numbers& letter = to[reader.rank];
      letter = {reader.count};
      letter.insert(letter.end(), back.begin(), back.end());
      for (std::int64_t i = reader.first; i < reader.first + reader.count; ++i) {
        const std::int64_t row = sent_.rows()[i];
        letter.push_back(server_of(row));
        letter.push_back(place_of(row));
        ++back[server_of(row)];
      }
    }
    for (const FlatRows::Peer& reader : sent_.peers()) {
      std::vector<Numbers> at_server(static_cast<std::size_t>(servers_));
      for (std::int64_t i = reader.first; i < reader.first + reader.count; ++i)
        at_server[server_of(sent_.rows()[i])].push_back(place_of(sent_.rows()[i]));
      for (int k = 0; k < servers_; ++k) {
        Numbers& letter = to[rank_at(k)];
        letter.push_back(reader.rank);
        letter.push_back(static_cast<std::int64_t>(at_server[k].size()));
        letter.insert(letter.end(), at_server[k].begin(), at_server[k].end());
      }
    }
    std::vector<std::string> bytes;
    for (const Numbers& letter : to) bytes.push_back(bytes_of(letter));
    return bytes;
  }

  Told read(const std::string& bytes) const {
    Told told;
    Letter letter(bytes);
    const std::int64_t rows = letter.next();
    if (rows > 0)
      for (int k = 0; k < servers_; ++k) told.back.push_back(letter.next());
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t server = letter.next();
      told.rows.push_back({server, letter.next()});
    }
    while (!letter.ends()) {
      Told::Reader& reader = told.readers.emplace_back();
      reader.rank = static_cast<Rank>(letter.next());
      reader.places.resize(static_cast<std::size_t>(letter.next()));
      for (std::int64_t& place : reader.places) place = letter.next();
    }
    return told;
  }

  void tell() {
    for (const std::string& bytes : together_.exchange([this] { return letters(); })) told_.push_back(read(bytes));
    Numbers reads(static_cast<std::size_t>(servers_), 0);
    for (const Told& owner : told_)
      for (const Told::Row& row : owner.rows) ++reads[row.server];
    reads_ = all_of(reads);
  }

  std::int64_t stored(const Numbers& all, Rank rank) const {
    return server_at_[rank] < 0 ? 0 : before(all, ranks_, server_at_[rank]);
  }

  /// Rows between other ranks and their servers: `numbers` of each rank and server. `to_server`: their direction.
  void count_others(PlanBuilder& builder, const Numbers& numbers, bool to_server) const {
    for (Rank r = 0; r < ranks_; ++r) {
      for (int k = 0; k < servers_; ++k) {
        const Rank server = rank_at(k);
        const std::int64_t rows = of(numbers, r, k);
        if (r == own_ || server == own_ || rows == 0) continue;
        if (server == r)
          builder.move(r, r, 0, 0, rows);
        else
          builder.count(to_server ? PairRows{r, server, rows} : PairRows{server, r, rows});
      }
    }
  }

  ExchangePlan push() const {
    PlanBuilder builder(ranks_, scope_);
    for (Rank r = 0; r < ranks_; ++r) {
      builder.rows(r, plan_.of(r).input_rows, stored(pushed_to_, r));
      if (r == own_) {
        for (std::size_t i = 0; i < pushed_.size(); ++i)
          builder.move(own_, rank_at(server_of(pushed_[i])), pushed_[i], place_[i], 1);
      } else if (own_server() >= 0) {
        builder.move(r, own_, 0, before(pushed_to_, r, own_server()), of(pushed_to_, r, own_server()));
      }
    }
    count_others(builder, pushed_to_, true);
    return one_way(builder);
  }

  ExchangePlan pull() const {
    PlanBuilder builder(ranks_, scope_);
    for (Rank r = 0; r < ranks_; ++r) {
      builder.rows(r, stored(pushed_to_, r), plan_.of(r).output_rows);
      const Told& owner = told_[r];
      const std::int64_t first = owner.rows.empty() ? 0 : received_.first_of(r);
      for (std::size_t i = 0; i < owner.rows.size(); ++i)
        builder.move(rank_at(static_cast<int>(owner.rows[i].server)), own_, owner.rows[i].place,
                     received_.rows()[first + i], 1);
      for (const Told::Reader& reader : owner.readers) {
        if (reader.rank == own_) continue;  // among the rows that this rank reads
        for (const std::int64_t place : reader.places) builder.move(own_, reader.rank, place, 0, 1);
      }
    }
    count_others(builder, reads_, false);
    return one_way(builder);
  }

  ExchangePlan push_back() const {
    PlanBuilder builder(ranks_, scope_);
    for (Rank r = 0; r < ranks_; ++r) {
      builder.rows(r, plan_.of(r).output_rows, stored(sent_by_, r));
      const Told& owner = told_[r];
      const std::int64_t first = owner.rows.empty() ? 0 : received_.first_of(r);
      Numbers next = owner.back;
      for (std::size_t i = 0; i < owner.rows.size(); ++i) {
        const auto server = static_cast<int>(owner.rows[i].server);
        builder.move(own_, rank_at(server), received_.rows()[first + i], next[server]++, 1);
      }
      std::int64_t place = own_server() < 0 ? 0 : before(sent_by_, r, own_server());
      for (const Told::Reader& reader : owner.readers) {
        const auto rows = static_cast<std::int64_t>(reader.places.size());
        if (reader.rank != own_) builder.move(reader.rank, own_, 0, place, rows);
        place += rows;
      }
    }
    count_others(builder, reads_, true);
    return one_way(builder);
  }

  ExchangePlan pull_back() const {
    PlanBuilder builder(ranks_, scope_);
    Numbers next;
    for (int k = 0; k < servers_; ++k) next.push_back(before(sent_by_, own_, k));
    for (Rank r = 0; r < ranks_; ++r) {
      const RankExchange& rank = plan_.of(r);
      builder.rows(r, stored(sent_by_, r), plan_.fan_out ? rank.send.total : rank.input_rows);
      if (r != own_ && own_server() >= 0)
        builder.move(own_, r, before(sent_by_, r, own_server()), 0, of(sent_by_, r, own_server()));
    }
    for (std::size_t i = 0; i < sent_.rows().size(); ++i) {
      const std::int64_t row = sent_.rows()[i];
      const int server = server_of(row);
      builder.move(rank_at(server), own_, next[server]++, plan_.fan_out ? static_cast<std::int64_t>(i) : row, 1);
    }
    count_others(builder, sent_by_, false);
    return one_way(builder);
  }

  const ExchangePlan& plan_;
  ListScope scope_;
  Rank own_;
  int ranks_, servers_;
  const ShareHolders& together_;
  FlatRows sent_, received_;    // of this rank
  std::vector<int> server_at_;  // [ranks] the server there, or -1
  Numbers pushed_, place_;      // own rows that others read, ascending, and their places
  /// [ranks x servers] Rows that an owner pushes to a server; rows that it sends, once for each reader; rows that a
  /// reader gets from a server.
  Numbers pushed_to_, sent_by_, reads_;
  std::vector<Told> told_;  // [ranks] by owner
};

}  // namespace

ServerRoute route_in_parts(const ExchangePlan& plan, const ListScope& scope) {
  if (scope.together == nullptr || scope.together->size != plan.rank_count)
    throw Error("exchange: a route in parts needs one process for each rank");
  return RouteInParts(plan, scope).route();
}

}  // namespace strobe
