// `PacketReader` reads captures of packets: pcap in both byte orders and resolutions of time, and
// pcapng. It hands on the TCP segments of IPv4 and IPv6 for the class that derives from it; other
// packets, and fragments, are passed over.
//
// Captures of Ethernet (with VLAN tags), of Linux "cooked" interfaces, of loopback interfaces and
// of bare IP are understood. Behind a record whose length is wrong nothing more of the file is
// read.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.hpp"
#include "measurement/input/content_reader.hpp"
#include "measurement/input/timestamp.hpp"

namespace prophecy::measurement {

struct TcpEndpoint {
  IpAddress address;
  std::uint16_t port = 0;
  auto operator<=>(const TcpEndpoint&) const = default;
};

struct TcpSegment {
  TcpEndpoint from;
  TcpEndpoint to;
  std::uint32_t sequence = 0;  // of its first byte, or of SYN
  bool opens = false;          // SYN without ACK: the client's
  bool begins = false;         // SYN
  bool ends = false;           // FIN
  bool resets = false;
  std::string_view bytes;
  std::size_t bytes_missing = 0;  // behind these: the capture has cut the packet
  Microseconds time = 0;
  std::uint64_t offset = 0;  // of the packet in the file
};

// Whether an input begins like a capture of packets.
[[nodiscard]] bool begins_like_packets(std::string_view beginning);

class PacketReader : public ContentReader {
 public:
  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void finish() override;
  [[nodiscard]] std::uint64_t records() const override { return packets_; }

 protected:
  virtual void on_segment(const TcpSegment& segment) = 0;
  virtual void on_packet_damage(Damage damage) = 0;
  virtual void on_packets_end() = 0;

 private:
  struct Interface {
    std::uint16_t link = 0;
    std::uint64_t ticks_per_second = 1'000'000;
  };

  // Takes the next record off held_, from `position_` on, and returns its size; 0: more bytes are
  // needed, or it is damaged.
  [[nodiscard]] std::size_t take();
  [[nodiscard]] std::size_t take_file_header(std::string_view bytes);
  [[nodiscard]] std::size_t take_record(std::string_view bytes);
  [[nodiscard]] std::size_t take_block(std::string_view bytes);
  void take_interface(std::string_view body);
  void take_enhanced(std::string_view body);
  void take_packet(std::uint16_t link, std::string_view bytes, std::size_t missing);
  void take_ip(std::string_view bytes, std::size_t missing);
  void take_tcp(std::string_view bytes, std::size_t missing, TcpSegment& segment);
  void stop(std::string_view problem);
  [[nodiscard]] std::uint32_t number32(std::string_view bytes, std::size_t place) const;
  [[nodiscard]] std::uint16_t number16(std::string_view bytes, std::size_t place) const;

  enum class Format : std::uint8_t { unknown, pcap, pcapng };
  Format format_ = Format::unknown;
  bool is_swapped_ = false;  // big-endian
  bool is_stopped_ = false;
  std::vector<Interface> interfaces_;
  std::string held_;
  std::size_t position_ = 0;
  std::uint64_t offset_ = 0;  // of held_'s first byte in the file
  bool moves_ = true;
  Microseconds time_ = 0;  // of the packet at hand
  std::uint64_t packets_ = 0;
};

}  // namespace prophecy::measurement
