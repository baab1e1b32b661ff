#include <algorithm>

#include "dht/zookeeper/core/answer.hpp"
#include "dht/zookeeper/core/jute.hpp"
#include "dht/zookeeper/core/wire.hpp"

namespace prophecy::zookeeper {
namespace {

Error malformed(const char* what) {
  return {ErrorKind::protocol, std::string("ZooKeeper server: malformed ") + what};
}

Stat read_stat(JuteReader& in) {
  Stat stat;
  stat.created_zxid = in.long_integer();
  stat.modified_zxid = in.long_integer();
  stat.created_ms = in.long_integer();
  stat.modified_ms = in.long_integer();
  stat.version = in.integer();
  stat.children_version = in.integer();
  stat.access_version = in.integer();
  stat.ephemeral_owner = in.long_integer();
  stat.data_bytes = in.integer();
  stat.children = in.integer();
  stat.children_zxid = in.long_integer();
  return stat;
}

// A path comes back as it was sent.
void read_path(JuteReader& in, const std::string& sent) {
  if (as_text(in.buffer(kFrameBytesMax)) != sent) in.fail();
}

Operation operation_of(const Step& step) {
  struct {
    Operation operator()(const Check&) const { return Operation::check; }
    Operation operator()(const Create&) const { return Operation::create; }
    Operation operator()(const SetData&) const { return Operation::set_data; }
    Operation operator()(const Delete&) const { return Operation::remove; }
  } of;
  return std::visit(of, step);
}

struct StepHeader {
  Operation operation;
  bool last;
  ErrorCode code;
};

StepHeader read_step_header(JuteReader& in) {
  const auto operation = static_cast<Operation>(in.integer());
  const bool last = in.boolean();
  return {operation, last, static_cast<ErrorCode>(in.integer())};
}

// Reads what the answer to one request or step holds.
class AnswerBody {
 public:
  AnswerBody(JuteReader& in, Answer& answer) : in_(in), answer_(answer) {}

  void operator()(const Check&) {}
  void operator()(const Delete&) {}
  void operator()(const Create& create) { read_path(in_, create.path); }
  void operator()(const SetData&) { answer_.stat = read_stat(in_); }
  void operator()(const Exists&) { answer_.stat = read_stat(in_); }
  void operator()(const Sync& sync) { read_path(in_, sync.path); }
  void operator()(const GetData&) {
    const ByteView data = in_.buffer(kFrameBytesMax);
    answer_.data.assign(data.begin(), data.end());
    answer_.stat = read_stat(in_);
  }
  void operator()(const GetChildren&) {
    const std::size_t count = in_.count(kChildrenMax, 4);
    answer_.children.reserve(count);
    for (std::size_t i = 0; i < count && !in_.failed(); ++i) {
      answer_.children.push_back(in_.string(kFrameBytesMax));
    }
  }
  void operator()(const Multi& multi) {
    for (const Step& step : multi.steps) {
      if (!read_step(step)) return in_.fail();
    }
    const StepHeader end = read_step_header(in_);
    if (!end.last || end.operation != Operation::error || !is_consistent()) in_.fail();
  }

 private:
  [[nodiscard]] bool read_step(const Step& step) {
    const StepHeader header = read_step_header(in_);
    if (in_.failed() || header.last) return false;
    if (header.operation == Operation::error) {
      const auto code = static_cast<ErrorCode>(in_.integer());
      answer_.steps.push_back(code);
      failed_ = true;
      return code == header.code;
    }
    if (header.operation != operation_of(step) || header.code != ErrorCode::ok) return false;
    answer_.steps.push_back(ErrorCode::ok);
    done_ = true;
    std::visit(*this, step);
    return true;
  }
  // None is carried out where another one fails, and one is why.
  [[nodiscard]] bool is_consistent() const {
    if (!failed_) return true;
    if (done_) return false;
    for (const ErrorCode code : answer_.steps) {
      if (code != ErrorCode::ok && code != ErrorCode::runtime_inconsistency) return true;
    }
    return false;
  }

  JuteReader& in_;
  Answer& answer_;
  bool failed_ = false;
  bool done_ = false;
};

WatchEvent::Kind kind_of(std::int32_t type) {
  switch (type) {
    case 1:
      return WatchEvent::Kind::created;
    case 2:
      return WatchEvent::Kind::deleted;
    case 3:
      return WatchEvent::Kind::data_changed;
    case 4:
      return WatchEvent::Kind::children_changed;
    default:
      return WatchEvent::Kind::other;
  }
}

}  // namespace

Result<Welcome> decode_welcome(ByteView frame) {
  JuteReader in(frame);
  const std::int32_t version = in.integer();
  Welcome welcome;
  welcome.timeout_ms = in.integer();
  welcome.session_id = in.long_integer();
  const ByteView password = in.buffer(kPasswordBytes);
  // Servers before 3.4 end here. A read-only one does not take part in any quorum.
  const bool read_only = !in.failed() && !in.at_end() && in.boolean();
  if (!in.complete() || version != kProtocolVersion || password.size() != kPasswordBytes) {
    return malformed("answer to our session");
  }
  if (read_only) return Error{ErrorKind::unavailable, "ZooKeeper server: is read-only"};
  std::copy(password.begin(), password.end(), welcome.password.begin());
  return welcome;
}

Result<HeadedFrame> decode_header(ByteView frame) {
  constexpr std::size_t kHeaderBytes = 16;
  if (frame.size() < kHeaderBytes) return malformed("header");
  JuteReader in(frame.first(kHeaderBytes));
  HeadedFrame headed;
  headed.header.xid = in.integer();
  headed.header.zxid = in.long_integer();
  headed.header.code = static_cast<ErrorCode>(in.integer());
  headed.rest = frame.subspan(kHeaderBytes);
  return headed;
}

Result<Answer> decode_answer(const Request& request, ByteView rest) {
  JuteReader in(rest);
  Answer answer;
  std::visit(AnswerBody(in, answer), request);
  if (!in.complete()) return malformed("answer");
  return answer;
}

Result<WatchEvent> decode_event(ByteView rest) {
  JuteReader in(rest);
  WatchEvent event;
  event.kind = kind_of(in.integer());
  (void)in.integer();  // the state of the connection, which we know
  event.path = in.string(kFrameBytesMax);
  if (!in.complete()) return malformed("event");
  return event;
}

}  // namespace prophecy::zookeeper
