#include "measurement/readers/packet_answers.hpp"

#include <deque>
#include <utility>

#include "base/assert.hpp"
#include "http/message.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kHeldBytesMax = 1 << 20;  // of a body, for comparisons
constexpr std::size_t kUnparsedBytesMax = 64 << 10;

bool begins_like_request(std::string_view bytes) {
  return !bytes.empty() && bytes.front() >= 'A' && bytes.front() <= 'Z';
}

}  // namespace

struct PacketAnswers::Connection {
  struct Asked {
    std::string method;
    std::string url;  // empty: it names no valid one
  };

  Connection(const sketch::Profile& profile, const http::MessageLimits& limits)
      : requests(request, limits),
        sketcher(profile, SketchLimits{.held_bytes_max = kHeldBytesMax}) {}

  ByteStream from_client;
  ByteStream from_server;
  http::Request request;
  http::RequestParser requests;
  std::deque<Asked> asked;
  AnswerSketcher sketcher;
  std::string unparsed;  // bytes of answers that came before their request was seen
  bool is_answering = false;
  std::uint64_t age = 0;
  bool is_over = false;          // given up, or of another protocol
  Microseconds time = 0;         // of the last segment of the server
  Microseconds answer_time = 0;  // of the answer at hand
  std::uint64_t offset = 0;      // of the last packet
};

PacketAnswers::PacketAnswers(const sketch::Profile& profile, AnswerSink& sink)
    : profile_(profile), sink_(sink) {
  limits_.target_bytes_max = 64 << 10;
  limits_.header_bytes_max = 1 << 20;
  limits_.header_count_max = 4096;
  limits_.body_bytes_max = 1 << 30;
}

PacketAnswers::~PacketAnswers() = default;

PacketAnswers::Connections::iterator PacketAnswers::find(const TcpSegment& segment,
                                                         bool& from_client) {
  from_client = true;
  const auto found = connections_.find({segment.from, segment.to});
  if (found != connections_.end()) return found;
  from_client = false;
  return connections_.find({segment.to, segment.from});
}

// With the client's SYN. One under the same addresses and ports has ended.
void PacketAnswers::begin(const TcpSegment& segment) {
  const Key key{segment.from, segment.to};
  auto& place = connections_[key];
  if (place) {
    // The same SYN again.
    if (place->from_client.has_begun() && !place->is_over && !place->from_server.has_begun())
      return;
    close(key, *place);
    by_age_.erase(place->age);
  }
  place = std::make_unique<Connection>(profile_, limits_);
  place->from_client.begin(segment.sequence);
  place->age = ++last_age_;
  by_age_.emplace(place->age, key);
  if (connections_.size() <= kConnectionsMax) return;
  const auto oldest = connections_.find(by_age_.begin()->second);
  ASSERT(oldest != connections_.end());
  sink_.on_damage({segment.offset, "too many connections at a time; the oldest is left out"});
  erase(oldest);
}

void PacketAnswers::erase(Connections::iterator connection) {
  by_age_.erase(connection->second->age);
  connections_.erase(connection);
}

void PacketAnswers::on_segment(const TcpSegment& segment) {
  bool from_client = false;
  auto found = find(segment, from_client);
  if (segment.opens && (found == connections_.end() || from_client)) {
    begin(segment);
    found = find(segment, from_client);
  }
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  ByteStream& stream = from_client ? connection.from_client : connection.from_server;
  connection.offset = segment.offset;
  if (segment.begins) stream.begin(segment.sequence);
  const std::uint32_t sequence = segment.sequence + (segment.begins ? 1 : 0);
  stream.add(sequence, segment.bytes, segment.bytes_missing);
  if (segment.ends) {
    stream.end(sequence + static_cast<std::uint32_t>(segment.bytes.size() + segment.bytes_missing));
  }
  if (!from_client && !segment.bytes.empty()) connection.time = segment.time;
  take(found->first, connection);
  if (segment.resets) close(found->first, connection);
  // Segments that still come are passed over.
  if (connection.is_over) erase(found);
}

void PacketAnswers::take(const Key& key, Connection& connection) {
  if (!connection.is_over) take_requests(connection);
  if (!connection.is_over) take_answers(key, connection);
}

void PacketAnswers::take_requests(Connection& connection) {
  std::string bytes = connection.from_client.take();
  std::string_view left = bytes;
  while (!left.empty()) {
    if (connection.requests.idle() && !begins_like_request(left) && left.front() != '\r' &&
        left.front() != '\n') {
      connection.is_over = true;  // another protocol
      return;
    }
    const auto progress = connection.requests.feed(left);
    left.remove_prefix(progress.consumed);
    http::Request& request = connection.request;
    if (progress.state == http::ParseState::failed) {
      return give_up(connection, "a request that is none");
    }
    if (progress.state == http::ParseState::head_done) {
      if (connection.asked.size() >= kRequestsMax) {
        return give_up(connection, "a thousand requests without an answer");
      }
      const auto host = request.fields.find("host");
      const bool is_whole = request.target.find("://") != std::string::npos;
      const auto url = split_url(
          is_whole ? request.target : "http://" + std::string(host.value_or("")) + request.target);
      Connection::Asked asked{request.method, {}};
      if (url) asked.url = url->scheme + "://" + url->authority + url->target;
      connection.asked.push_back(std::move(asked));
      if (connection.requests.feed({}).state == http::ParseState::complete) {
        connection.requests.reset();
      }
      continue;
    }
    request.body.clear();
    if (progress.state == http::ParseState::complete) connection.requests.reset();
  }
  if (connection.from_client.has_gap()) {
    give_up(connection, "bytes of a request are not in the capture");
  }
}

void PacketAnswers::take_answers(const Key& key, Connection& connection) {
  connection.unparsed += connection.from_server.take();
  std::string_view left = connection.unparsed;
  while (!left.empty() && !connection.is_over) {
    if (!connection.is_answering) {
      // Its request may come later in the file.
      if (connection.asked.empty()) break;
      const bool is_head = connection.asked.front().method == "HEAD";
      connection.sketcher.begin(is_head ? AnswerPart::to_head : AnswerPart::whole);
      connection.is_answering = true;
      connection.answer_time = connection.time;
    }
    left.remove_prefix(connection.sketcher.take(left));
    if (!connection.sketcher.problem().empty()) {
      // The connection speaks another protocol from here on.
      if (connection.sketcher.status() == 101) return void(connection.is_over = true);
      return give_up(connection, std::string(connection.sketcher.problem()));
    }
    if (connection.sketcher.is_complete()) end_answer(key, connection);
  }
  if (connection.is_over) return;
  connection.unparsed.erase(0, connection.unparsed.size() - left.size());
  if (connection.unparsed.size() > kUnparsedBytesMax) {
    return give_up(connection, "an answer without a request");
  }
  if (connection.from_server.has_gap()) {
    return give_up(connection, "bytes of an answer are not in the capture");
  }
  const bool waits = !connection.is_answering && !connection.unparsed.empty();
  if (connection.from_server.is_over() && !waits) close(key, connection);
}

void PacketAnswers::end_answer(const Key& key, Connection& connection) {
  connection.is_answering = false;
  const Connection::Asked asked = std::move(connection.asked.front());
  connection.asked.pop_front();
  std::string_view problem = connection.sketcher.finish();
  if (!http::is_read_method(asked.method)) {
    if (problem.empty()) sink_.on_other_method();
    // A tunnel speaks another protocol behind its answer.
    if (asked.method == "CONNECT") connection.is_over = true;
    return;
  }
  if (problem.empty() && asked.url.empty()) problem = "a request without a valid URL";
  const auto sketch = problem.empty() ? connection.sketcher.sketch(problem) : std::nullopt;
  if (!sketch) return sink_.on_damage({connection.offset, std::string(problem)});
  const std::string url = asked.method + ' ' + asked.url;
  const std::string address = key.server.address.to_string();
  Answer answer;
  answer.url = url;
  answer.time = connection.answer_time;
  answer.kind = sketch->kind;
  answer.status = sketch->status;
  answer.body_bytes = sketch->payload.bytes;
  answer.sketch = sketch->sketch;
  answer.body_state = connection.sketcher.body_state();
  answer.body = connection.sketcher.body();
  answer.fields = connection.sketcher.fields();
  answer.address = address;
  sink_.on_answer(answer);
}

void PacketAnswers::give_up(Connection& connection, const std::string& problem) {
  connection.is_over = true;
  sink_.on_damage({connection.offset, problem + "; the rest of the connection is left out"});
}

// Nothing more comes: an answer may end with its connection.
void PacketAnswers::close(const Key& key, Connection& connection) {
  if (connection.is_over) return;
  if (!connection.is_answering && !connection.unparsed.empty()) {
    return give_up(connection, "an answer without a request");
  }
  connection.is_over = true;
  if (!connection.is_answering) return;
  if (!connection.from_server.is_over()) {
    return sink_.on_damage({connection.offset, "the capture ends inside an answer"});
  }
  end_answer(key, connection);
}

void PacketAnswers::on_packets_end() {
  for (auto& [key, connection] : connections_) {
    connection->from_client.end_everything();
    connection->from_server.end_everything();
    take(key, *connection);
    close(key, *connection);
  }
  connections_.clear();
  by_age_.clear();
}

}  // namespace prophecy::measurement
