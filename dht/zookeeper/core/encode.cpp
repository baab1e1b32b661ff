#include "dht/zookeeper/core/encode.hpp"

#include <algorithm>

#include "dht/zookeeper/core/jute.hpp"

namespace prophecy::zookeeper {
namespace {

// A frame under construction.
class Frame {
 public:
  Frame() : bytes_(4), writer_(bytes_) {}
  Frame(std::int32_t xid, Operation operation) : Frame() {
    writer_.integer(xid);
    this->operation(operation);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] JuteWriter& writer() { return writer_; }
  void operation(Operation operation) { writer_.integer(static_cast<std::int32_t>(operation)); }
  [[nodiscard]] Bytes finish() {
    Bytes length;
    JuteWriter(length).length(bytes_.size() - 4);
    std::copy(length.begin(), length.end(), bytes_.begin());
    return std::move(bytes_);
  }

 private:
  Bytes bytes_;
  JuteWriter writer_;
};

Operation operation_of(const Create&) {
  return Operation::create;
}
Operation operation_of(const Delete&) {
  return Operation::remove;
}
Operation operation_of(const SetData&) {
  return Operation::set_data;
}
Operation operation_of(const Check&) {
  return Operation::check;
}
Operation operation_of(const Multi&) {
  return Operation::multi;
}
Operation operation_of(const GetData&) {
  return Operation::get_data;
}
Operation operation_of(const GetChildren&) {
  return Operation::get_children;
}
Operation operation_of(const Exists&) {
  return Operation::exists;
}
Operation operation_of(const Sync&) {
  return Operation::sync;
}

// Writes what follows a request's header.
class RequestBody {
 public:
  RequestBody(Frame& frame, std::span<const AccessRule> access) : frame_(frame), access_(access) {}

  void operator()(const Create& create) {
    JuteWriter& out = frame_.writer();
    out.string(create.path);
    out.buffer(create.data);
    out.length(access_.size());
    for (const AccessRule& rule : access_) {
      out.integer(rule.permissions);
      out.string(rule.scheme);
      out.string(rule.id);
    }
    out.integer(create.ephemeral ? kEphemeralFlag : 0);
  }
  void operator()(const Delete& remove) {
    frame_.writer().string(remove.path);
    frame_.writer().integer(remove.version);
  }
  void operator()(const SetData& set) {
    frame_.writer().string(set.path);
    frame_.writer().buffer(set.data);
    frame_.writer().integer(set.version);
  }
  void operator()(const Check& check) {
    frame_.writer().string(check.path);
    frame_.writer().integer(check.version);
  }
  void operator()(const Multi& multi) {
    for (const Step& step : multi.steps) {
      step_header(std::visit([](const auto& one) { return operation_of(one); }, step), false);
      std::visit(*this, step);
    }
    step_header(Operation::error, true);
  }
  void operator()(const GetData& get) { watched(get.path, get.watch); }
  void operator()(const GetChildren& get) { watched(get.path, get.watch); }
  void operator()(const Exists& exists) { watched(exists.path, exists.watch); }
  void operator()(const Sync& sync) { frame_.writer().string(sync.path); }

 private:
  void watched(const std::string& path, bool watch) {
    frame_.writer().string(path);
    frame_.writer().boolean(watch);
  }
  void step_header(Operation operation, bool last) {
    frame_.operation(operation);
    frame_.writer().boolean(last);
    frame_.writer().integer(-1);
  }

  Frame& frame_;
  std::span<const AccessRule> access_;
};

void write_paths(JuteWriter& out, const std::vector<std::string>& paths) {
  out.length(paths.size());
  for (const std::string& path : paths)
    out.string(path);
}

}  // namespace

Bytes encode_request(std::int32_t xid, const Request& request, std::span<const AccessRule> access) {
  Frame frame(xid, std::visit([](const auto& one) { return operation_of(one); }, request));
  std::visit(RequestBody(frame, access), request);
  return frame.finish();
}

Bytes encode_hello(const Hello& hello) {
  Frame frame;
  JuteWriter& out = frame.writer();
  out.integer(kProtocolVersion);
  out.long_integer(hello.last_zxid);
  out.integer(hello.timeout_ms);
  out.long_integer(hello.session_id);
  out.buffer(hello.password);
  out.boolean(false);  // a read-only server does not do
  return frame.finish();
}

Bytes encode_ping() {
  return Frame(kPingXid, Operation::ping).finish();
}

Bytes encode_auth(const Identity& identity) {
  Frame frame(kAuthXid, Operation::auth);
  frame.writer().integer(0);
  frame.writer().string(identity.scheme);
  frame.writer().string(identity.secret);
  return frame.finish();
}

Bytes encode_close(std::int32_t xid) {
  return Frame(xid, Operation::close_session).finish();
}

Bytes encode_watches(std::int64_t last_zxid, const WatchedPaths& paths) {
  Frame frame(kWatchesXid, Operation::set_watches);
  frame.writer().long_integer(last_zxid);
  write_paths(frame.writer(), paths.data);
  write_paths(frame.writer(), paths.absent);
  write_paths(frame.writer(), paths.children);
  return frame.finish();
}

}  // namespace prophecy::zookeeper
