// `BodyRelay` alone: its actions as lines of text, and what its client has.
#pragma once

#include "read_world.hpp"

namespace prophecy::sketcher::read_test {

using Source = BodyRelay::Source;
using Step = BodyRelay::Step;

inline const std::string kWire = "GET / HTTP/1.1\r\nhost: a\r\nuser-agent: curl\r\n\r\n";
inline const std::string kSend = fmt::format("send {}", kBlock);
inline const std::string kConstantWire = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

struct RelayWorld final : ReadWorld {
  Step start(Source source, const std::string& whole, std::uint64_t first, std::uint64_t size,
             bool may_begin = true, const std::string& of_client = kWire) {
    return relay.start_verified(core.group, source, std::make_shared<const Bytes>(list_of(whole)),
                                first, size, of_client, kConstantWire, may_begin);
  }
  Step start_all(Source source, const std::string& whole) {
    return start(source, whole, 0, whole.size());
  }
  // Pieces are sent on until the client takes no more.
  Step settled(Step step) {
    while (is_sending || step == Step::verified) {
      if (step == Step::verified) {
        log.emplace_back("verified");
        step = relay.release();
      } else {
        is_sending = false;
        step = relay.on_sent(takes);
      }
      note();
    }
    return step;
  }
  Step piece(http::Response response) {
    const Step step = relay.on_progress(response);
    note();
    return settled(step);
  }
  Step piece(const std::string& bytes) { return piece(response_of(bytes)); }
  Step end(ExchangeEnd end, const std::string& bytes = "") {
    http::Response response = response_of(bytes);
    const Step step = relay.on_end(end, response);
    note();
    return settled(step);
  }
  Step writable() {
    const Step step = relay.on_writable();
    note();
    return settled(step);
  }
  // An answer to the request for the range of the blocks from `block` on.
  http::Response part(const std::string& whole, std::size_t block, std::size_t last_block) {
    const std::size_t begin = block * kBlock;
    const std::size_t stop = std::min(whole.size(), (last_block + 1) * kBlock);
    http::Response response = response_of(whole.substr(begin, stop - begin), 206);
    response.fields.add("content-range",
                        fmt::format("bytes {}-{}/{}", begin, stop - 1, whole.size()));
    return response;
  }
  Lines took() {
    note();
    return std::exchange(log, {});
  }
  void note() {
    while (!actions.empty()) {
      const ReadAction action = actions.take();
      switch (action.kind) {
        case ReadAction::Kind::ask_origin:
          wire = relay.wire();
          log.push_back(fmt::format("ask {}", action.replica));
          break;
        case ReadAction::Kind::cancel_origin:
          log.emplace_back("cancel");
          break;
        case ReadAction::Kind::extend_origin:
          log.emplace_back("extend");
          break;
        case ReadAction::Kind::pause_origin:
          log.emplace_back("pause");
          break;
        case ReadAction::Kind::resume_origin:
          log.emplace_back("resume");
          break;
        case ReadAction::Kind::arm_untaken:
          log.emplace_back("untaken");
          break;
        case ReadAction::Kind::disarm_untaken:
          log.emplace_back("no untaken");
          break;
        case ReadAction::Kind::send_body:
          REQUIRE_FALSE(std::exchange(is_sending, true));
          log.push_back(fmt::format("send {}", action.size));
          body.append(*action.storage, action.begin, action.size);
          break;
        default:
          log.emplace_back("?");
      }
    }
  }

  ReadActions actions;
  BodyRelay relay{actions, large};
  Lines log;
  std::string wire;  // that the last origin was sent
  std::string body;  // that the client has
  bool is_sending = false;
  bool takes = true;
};

}  // namespace prophecy::sketcher::read_test
