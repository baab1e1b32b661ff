#include "simulation/hosts/describe_frame.hpp"

#include <sstream>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/sealed.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::simulation {
namespace {

std::string brief(const pbft::Digest& digest) {
  return to_hex(ByteView(digest).first(3));
}

std::string request_fields(const pbft::RequestMessage& m) {
  std::ostringstream out;
  out << "client " << m.client << " session " << m.session << " time " << m.timestamp
      << (m.read_only ? " read-only" : "");
  if (m.body) out << " body " << brief(m.body->root) << " of " << m.body->size << " bytes";
  return out.str();
}

std::string records(const std::vector<pbft::BatchRecord>& records) {
  std::string text;
  for (const pbft::BatchRecord& record : records) {
    text += " #" + std::to_string(record.sequence) + "@" + std::to_string(record.view) + ":" +
            brief(record.batch);
  }
  return text.empty() ? " -" : text;
}

std::string status_fields(const pbft::StatusMessage& m) {
  std::ostringstream out;
  out << (m.changing_view ? "asks for view " : "view ") << m.view << " ordered " << m.last_ordered
      << " settled " << m.settled << " stable " << m.last_stable << " retains from "
      << m.first_retained
      << (m.silent_until > 0 ? " silent until " + std::to_string(m.silent_until) : "") << " has ";
  for (const std::uint8_t bits : m.slots)
    out << static_cast<int>(bits);
  return out.str();
}

std::string reply_fields(const pbft::ReplyMessage& m) {
  std::ostringstream out;
  out << "to " << m.client << " session " << m.session << " time " << m.timestamp << " view "
      << m.view << " at " << place(m.sigma) << " result " << brief(m.result_digest)
      << (m.full ? " in full" : "") << (m.tentative ? " tentative" : "")
      << (m.status == pbft::ReplyStatus::unavailable ? " unavailable" : "")
      << (m.status == pbft::ReplyStatus::stale ? " stale" : "");
  return out.str();
}

std::string pre_prepare_fields(const pbft::PrePrepareMessage& m) {
  std::ostringstream out;
  out << "view " << m.view << " #" << m.sequence << " of";
  pbft::Digest batch{};
  Sha256 chain;
  for (const pbft::RequestMessage& request : m.requests) {
    chain.update(sha256(request.content));
    out << " [" << request_fields(request) << "]";
  }
  append_to_batch(chain, m.input);
  batch = chain.finish();
  out << " " << brief(batch);
  return out.str();
}

std::string sealed_fields(ByteView frame, std::uint32_t replicas) {
  const auto m = pbft::decode_sealed(frame, replicas);
  const auto inner = m ? pbft::peek_header(m->frame) : std::nullopt;
  // Not within itself again.
  if (!inner || inner->type == pbft::MessageType::sealed) return "malformed";
  return describe_frame(m->frame, replicas);
}

std::string fields(pbft::MessageType type, ByteView frame, std::uint32_t replicas) {
  std::string malformed = "malformed";
  switch (type) {
    case pbft::MessageType::request: {
      const auto m = pbft::decode_request(frame, replicas);
      return m ? request_fields(*m) : malformed;
    }
    case pbft::MessageType::forward: {
      const auto m = pbft::decode_forward(frame);
      const auto request =
          m ? pbft::decode_request(m->request, replicas) : std::optional<pbft::RequestMessage>();
      return request ? request_fields(*request) : malformed;
    }
    case pbft::MessageType::pre_prepare: {
      const auto m = pbft::decode_pre_prepare(frame, replicas);
      return m ? pre_prepare_fields(*m) : malformed;
    }
    case pbft::MessageType::prepare:
    case pbft::MessageType::commit:
    case pbft::MessageType::decision: {
      const auto m = pbft::decode_vote(frame, type, replicas);
      if (!m) return malformed;
      return "view " + std::to_string(m->view) + " #" + std::to_string(m->sequence) + " " +
             brief(m->batch);
    }
    case pbft::MessageType::checkpoint: {
      const auto m = pbft::decode_checkpoint(frame);
      return m ? "#" + std::to_string(m->sequence) + " " + brief(m->order) + " replies " +
                     brief(m->replies) + " state " + brief(m->service) + " in life " +
                     std::to_string(m->incarnation)
               : malformed;
    }
    case pbft::MessageType::status: {
      const auto m = pbft::decode_status(frame, replicas);
      return m ? status_fields(*m) : malformed;
    }
    case pbft::MessageType::reply: {
      const auto m = pbft::decode_reply(frame);
      return m ? reply_fields(*m) : malformed;
    }
    case pbft::MessageType::view_change: {
      const auto m = pbft::decode_view_change(frame, replicas);
      if (!m) return malformed;
      return "view " + std::to_string(m->view) + " stable " + std::to_string(m->stable) + " of " +
             std::to_string(m->certificate.size()) + " prepared" + records(m->prepared) +
             " pre-prepared" + records(m->pre_prepared);
    }
    case pbft::MessageType::new_view: {
      const auto m = pbft::decode_new_view(frame, replicas);
      if (!m) return malformed;
      std::string text = "view " + std::to_string(m->view) + " from";
      for (const ByteView one : m->view_changes) {
        const auto header = pbft::peek_header(one);
        text += " " + (header ? std::to_string(header->sender) : "?");
      }
      return text;
    }
    case pbft::MessageType::sealed:
      return sealed_fields(frame, replicas);
    default:
      return "";
  }
}

}  // namespace

std::string place(pbft::Sigma sigma) {
  return std::to_string(sigma >> 16) + "." + std::to_string(sigma & 0xffff);
}

std::string describe_frame(ByteView frame, std::uint32_t replicas) {
  const auto header = pbft::peek_header(frame);
  if (!header) return "garbage of " + std::to_string(frame.size()) + " bytes";
  std::string text(pbft::to_string(header->type));
  text += " from " + std::to_string(header->sender);
  const std::string more = fields(header->type, frame, replicas);
  return more.empty() ? text : text + ": " + more;
}

}  // namespace prophecy::simulation
