// `PacketAnswers` finds HTTP/1 answers in captures of packets. Connections whose beginning was
// captured are followed: requests give method and URL, answers are sketched as they come. An answer
// that overlaps a gap is incomplete and becomes none, and the rest of its connection is left out:
// where its next answer begins cannot be known.
//
// Passed over: connections of other protocols, TLS among them.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "http/parser.hpp"
#include "measurement/analysis/answer_sink.hpp"
#include "measurement/analysis/answer_sketcher.hpp"
#include "measurement/input/byte_stream.hpp"
#include "measurement/input/packet_reader.hpp"

namespace prophecy::measurement {

class PacketAnswers : public PacketReader {
 public:
  static constexpr std::size_t kConnectionsMax = 4'000;  // at a time; the oldest gives way
  static constexpr std::size_t kRequestsMax = 1'000;     // without an answer, of a connection

  // Both must outlive it.
  PacketAnswers(const sketch::Profile& profile, AnswerSink& sink);
  ~PacketAnswers() override;

 private:
  struct Key {
    TcpEndpoint client;
    TcpEndpoint server;
    auto operator<=>(const Key&) const = default;
  };
  struct Connection;

  void on_segment(const TcpSegment& segment) override;
  void on_packet_damage(Damage damage) override { sink_.on_damage(std::move(damage)); }
  void on_packets_end() override;

  using Connections = std::map<Key, std::unique_ptr<Connection>>;

  [[nodiscard]] Connections::iterator find(const TcpSegment& segment, bool& from_client);
  void begin(const TcpSegment& segment);
  // Takes what is there in both directions.
  void take(const Key& key, Connection& connection);
  void take_requests(Connection& connection);
  void take_answers(const Key& key, Connection& connection);
  void end_answer(const Key& key, Connection& connection);
  void give_up(Connection& connection, const std::string& problem);
  void close(const Key& key, Connection& connection);
  void erase(Connections::iterator connection);

  const sketch::Profile& profile_;
  AnswerSink& sink_;
  http::MessageLimits limits_;
  Connections connections_;  // those that are not over
  std::map<std::uint64_t, Key> by_age_;
  std::uint64_t last_age_ = 0;
};

}  // namespace prophecy::measurement
