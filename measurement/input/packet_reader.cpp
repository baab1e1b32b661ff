#include "measurement/input/packet_reader.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace prophecy::measurement {
namespace {

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kBlockFrame = 12;  // its type, and its length twice
constexpr std::size_t kPacketBytesMax = 256 << 10;
constexpr std::size_t kBlockBytesMax = 1 << 20;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kEnhancedBlock = 6;
constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionResolution = 9;
constexpr std::uint64_t kMillion = 1'000'000;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::uint8_t kTcp = 6;

// Numbers of packets are in network order.
std::uint16_t net16(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[place]) << 8 |
                                    static_cast<std::uint8_t>(bytes[place + 1]));
}

std::uint32_t net32(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint32_t>(net16(bytes, place)) << 16 | net16(bytes, place + 2);
}

std::uint8_t byte(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint8_t>(bytes[place]);
}

std::uint32_t swapped(std::uint32_t number) {
  return number << 24 | (number & 0xff00) << 8 | (number >> 8 & 0xff00) | number >> 24;
}

// As little-endian machines write it.
std::uint32_t little32(std::string_view bytes, std::size_t place) {
  return swapped(net32(bytes, place));
}

template <std::size_t Size>
IpAddress address_of(std::string_view bytes, std::size_t place) {
  std::array<std::uint8_t, Size> copy{};
  for (std::size_t i = 0; i < Size; ++i)
    copy[i] = byte(bytes, place + i);
  return IpAddress(std::span<const std::uint8_t, Size>(copy));
}

// Where the IP packet begins, behind the header of the link; nothing: it is none.
std::size_t link_header(std::uint16_t link, std::string_view bytes) {
  constexpr std::size_t kNone = std::string_view::npos;
  const auto is_ip = [](std::uint16_t type) { return type == kIpv4 || type == kIpv6; };
  switch (link) {
    case 1: {  // Ethernet
      std::size_t place = 12;
      while (bytes.size() >= place + 2) {
        const std::uint16_t type = net16(bytes, place);
        if (is_ip(type)) return place + 2;
        if (type != 0x8100 && type != 0x88a8) return kNone;  // no tag of a VLAN
        place += 4;
      }
      return kNone;
    }
    case 113:  // Linux cooked
      return bytes.size() >= 16 && is_ip(net16(bytes, 14)) ? 16 : kNone;
    case 276:  // Linux cooked, version 2
      return bytes.size() >= 20 && is_ip(net16(bytes, 0)) ? 20 : kNone;
    case 0:  // BSD loopback
    case 108:
      return 4;
    case 12:
    case 14:
    case 101:  // bare IP
    case 228:
    case 229:
      return 0;
    default:
      return kNone;
  }
}

}  // namespace

bool begins_like_packets(std::string_view beginning) {
  if (beginning.size() < 4) return false;
  const std::uint32_t magic = net32(beginning, 0);
  return magic == kSection || magic == kMicroseconds || magic == kNanoseconds ||
         swapped(magic) == kMicroseconds || swapped(magic) == kNanoseconds;
}

void PacketReader::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  if (is_stopped_) return;
  if (held_.empty()) offset_ = offset;
  moves_ = moves;
  held_.append(bytes);
  position_ = 0;
  while (const std::size_t size = take())
    position_ += size;
  held_.erase(0, position_);
  offset_ = moves ? offset_ + position_ : offset;
  position_ = 0;
}

void PacketReader::on_gap(Damage damage) {
  on_packet_damage(std::move(damage));
  if (!is_stopped_) stop("packets behind damage");
}

void PacketReader::finish() {
  if (!is_stopped_ && !held_.empty()) stop("the file ends inside a packet");
  on_packets_end();
}

void PacketReader::stop(std::string_view problem) {
  is_stopped_ = true;
  on_packet_damage({moves_ ? offset_ + position_ : offset_, std::string(problem)});
  held_.clear();
  position_ = 0;
}

std::uint32_t PacketReader::number32(std::string_view bytes, std::size_t place) const {
  return is_swapped_ ? net32(bytes, place) : little32(bytes, place);
}

std::uint16_t PacketReader::number16(std::string_view bytes, std::size_t place) const {
  const std::uint16_t number = net16(bytes, place);
  return is_swapped_ ? number : static_cast<std::uint16_t>(number << 8 | number >> 8);
}

std::size_t PacketReader::take() {
  if (is_stopped_) return 0;
  const std::string_view bytes = std::string_view(held_).substr(position_);
  if (bytes.size() < kBlockFrame) return 0;
  if (format_ == Format::unknown) {
    format_ = net32(bytes, 0) == kSection ? Format::pcapng : Format::pcap;
    if (format_ == Format::pcap) is_swapped_ = byte(bytes, 0) == 0xa1;
  }
  if (format_ == Format::pcapng) return take_block(bytes);
  return interfaces_.empty() ? take_file_header(bytes) : take_record(bytes);
}

std::size_t PacketReader::take_file_header(std::string_view bytes) {
  if (bytes.size() < kFileHeader) return 0;
  Interface only;
  only.link = static_cast<std::uint16_t>(number32(bytes, 20));
  only.ticks_per_second = number32(bytes, 0) == kNanoseconds ? 1000 * kMillion : kMillion;
  interfaces_.push_back(only);
  return kFileHeader;
}

std::size_t PacketReader::take_record(std::string_view bytes) {
  if (bytes.size() < kRecordHeader) return 0;
  const std::uint32_t size = number32(bytes, 8);
  const std::uint32_t original = number32(bytes, 12);
  if (size > kPacketBytesMax || original < size) {
    stop("a packet of an impossible length");
    return 0;
  }
  if (bytes.size() < kRecordHeader + size) return 0;
  const Interface& from = interfaces_.front();
  time_ = static_cast<Microseconds>(number32(bytes, 0) * kMillion +
                                    number32(bytes, 4) * kMillion / from.ticks_per_second);
  take_packet(from.link, bytes.substr(kRecordHeader, size), original - size);
  return kRecordHeader + size;
}

std::size_t PacketReader::take_block(std::string_view bytes) {
  const bool is_section = net32(bytes, 0) == kSection;
  if (is_section) {
    const std::uint32_t order = net32(bytes, 8);
    if (order != kByteOrder && swapped(order) != kByteOrder) {
      stop("a section without a byte order");
      return 0;
    }
    is_swapped_ = order == kByteOrder;
  }
  const std::uint32_t size = number32(bytes, 4);
  if (size < kBlockFrame || size % 4 != 0 || size > kBlockBytesMax) {
    stop("a block of an impossible length");
    return 0;
  }
  if (bytes.size() < size) return 0;
  if (number32(bytes, size - 4) != size) {
    stop("a block with two lengths");
    return 0;
  }
  const std::string_view body = bytes.substr(8, size - kBlockFrame);
  const std::uint32_t type = number32(bytes, 0);
  if (is_section) interfaces_.clear();
  if (type == kInterfaceBlock) take_interface(body);
  if (type == kEnhancedBlock) take_enhanced(body);
  return is_stopped_ ? 0 : size;
}

void PacketReader::take_interface(std::string_view body) {
  if (body.size() < 8) return stop("an interface without a link type");
  Interface added;
  added.link = number16(body, 0);
  for (std::string_view options = body.substr(8); options.size() >= 4;) {
    const std::uint16_t code = number16(options, 0);
    const std::size_t size = number16(options, 2);
    if (code == kOptionEnd || options.size() < 4 + size) break;
    if (code == kOptionResolution && size == 1) {
      const std::uint8_t written = byte(options, 4);
      const unsigned exponent = written & 0x7fU;
      const bool is_binary = (written & 0x80) != 0;
      if (exponent > (is_binary ? 40U : 12U)) return stop("a resolution of time beyond all reason");
      added.ticks_per_second = 1;
      for (unsigned i = 0; i < exponent; ++i)
        added.ticks_per_second *= is_binary ? 2 : 10;
    }
    options.remove_prefix(std::min(options.size(), 4 + (size + 3) / 4 * 4));
  }
  interfaces_.push_back(added);
}

void PacketReader::take_enhanced(std::string_view body) {
  if (body.size() < 20) return stop("a packet without its lengths");
  const std::uint32_t number = number32(body, 0);
  const std::uint32_t size = number32(body, 12);
  const std::uint32_t original = number32(body, 16);
  if (number >= interfaces_.size()) return stop("a packet of an interface that is not there");
  if (size > body.size() - 20 || original < size) return stop("a packet of an impossible length");
  const Interface& from = interfaces_[number];
  const std::uint64_t ticks =
      static_cast<std::uint64_t>(number32(body, 4)) << 32 | number32(body, 8);
  const std::uint64_t rest = ticks % from.ticks_per_second;
  // In parts, so that nothing overflows.
  const std::uint64_t micros = static_cast<std::uint64_t>(
      static_cast<double>(rest) * 1e6 / static_cast<double>(from.ticks_per_second));
  time_ = static_cast<Microseconds>(
      std::min<std::uint64_t>(ticks / from.ticks_per_second, UINT32_MAX) * kMillion + micros);
  take_packet(from.link, body.substr(20, size), original - size);
}

void PacketReader::take_packet(std::uint16_t link, std::string_view bytes, std::size_t missing) {
  ++packets_;
  const std::size_t begin = link_header(link, bytes);
  if (begin < bytes.size()) take_ip(bytes.substr(begin), missing);
}

void PacketReader::take_ip(std::string_view bytes, std::size_t missing) {
  TcpSegment segment;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint8_t protocol = 0;
  if (bytes.size() >= 20 && byte(bytes, 0) >> 4 == 4) {
    begin = (byte(bytes, 0) & 0x0fU) * 4;
    end = net16(bytes, 2);
    // The network card may have filled it in later.
    if (end == 0) end = bytes.size() + missing;
    if ((net16(bytes, 6) & 0x3fff) != 0) return;  // a fragment
    protocol = byte(bytes, 9);
    segment.from.address = address_of<4>(bytes, 12);
    segment.to.address = address_of<4>(bytes, 16);
  } else if (bytes.size() >= 40 && byte(bytes, 0) >> 4 == 6) {
    begin = 40;
    end = 40 + std::size_t{net16(bytes, 4)};
    if (end == 40) end = bytes.size() + missing;
    protocol = byte(bytes, 6);
    segment.from.address = address_of<16>(bytes, 8);
    segment.to.address = address_of<16>(bytes, 24);
    // Hop-by-hop options, routing, destination options.
    while ((protocol == 0 || protocol == 43 || protocol == 60) && bytes.size() >= begin + 8) {
      protocol = byte(bytes, begin);
      begin += 8 + std::size_t{byte(bytes, begin + 1)} * 8;
    }
  } else {
    return;
  }
  if (protocol != kTcp || begin < 20 || begin > end || begin > bytes.size()) return;
  const std::size_t here = std::min(end, bytes.size());
  take_tcp(bytes.substr(begin, here - begin), end - here, segment);
}

void PacketReader::take_tcp(std::string_view bytes, std::size_t missing, TcpSegment& segment) {
  if (bytes.size() < 20) return;
  const std::size_t begin = (byte(bytes, 12) >> 4) * std::size_t{4};
  if (begin < 20 || begin > bytes.size()) return;
  const std::uint8_t flags = byte(bytes, 13);
  segment.from.port = net16(bytes, 0);
  segment.to.port = net16(bytes, 2);
  segment.sequence = net32(bytes, 4);
  segment.ends = (flags & 0x01) != 0;
  segment.begins = (flags & 0x02) != 0;
  segment.opens = segment.begins && (flags & 0x10) == 0;
  segment.resets = (flags & 0x04) != 0;
  segment.bytes = bytes.substr(begin);
  segment.bytes_missing = missing;
  segment.time = time_;
  segment.offset = moves_ ? offset_ + position_ : offset_;
  on_segment(segment);
}

}  // namespace prophecy::measurement
