// One request of an HTTP/2 session, and its answer: the stream, what comes of its body, the
// exchange, and how long the client may take. Lent to a session for one request after another, as
// long as that has any under way: a connection that waits holds none.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <optional>

#include "sketcher/client/http/http2_session.hpp"

namespace prophecy::sketcher {

class Http2Session::Stream final : public http::Http2Stream,
                                   private AnswerSink,
                                   private BodyOwner,
                                   private TimeoutEntry {
 public:
  // Storage of one that waits for the next request.
  static constexpr std::size_t kKeptBytesMax = 4 << 10;

  explicit Stream(SessionResources& resources)
      : intake_(resources.spool, *this), handler_(resources.handlers.make(*this)) {}

  // None is under way.
  void lend_to(Http2Session& session) { session_ = &session; }

  [[nodiscard]] BodyIntake& intake() { return intake_; }

  void start() {
    const ClientInfo* client = find_client();
    if (client == nullptr) return on_error(kNoClient.status, kNoClient.reason);
    handler_->start(request, *client, session_->host_.now());
    if (!handler_->is_idle()) count_asking(request_bytes() + handler_->request_bytes());
  }
  // It has its time for so many bytes, and not for each.
  void wait_in(TimeoutQueue& queue, std::size_t moved_bytes) {
    const bool enough = progress_.moved(moved_bytes);
    if (!enough && armed()) return;
    queue_.begin(SIZE_MAX);
    queue.arm(*this, session_->host_.now());
  }
  // Likewise for its request, which has an end to its time. False: that is reached.
  [[nodiscard]] bool wait_for_body(std::size_t moved_bytes) {
    const bool enough = progress_.moved(moved_bytes);
    if (!enough && armed()) return true;
    const TimePoint now = session_->host_.now();
    if (!armed()) intake_.begin(now);
    session_->http2_.timeouts.body.arm(*this, now);
    return intake_.has_time(now);
  }
  void go_on_waiting_in(TimeoutQueue& queue) { queue.arm(*this, session_->host_.now()); }
  // Since the last look, or its own last progress: the kernel holds some of what is in front of it,
  // and less than it did.
  [[nodiscard]] bool queue_goes_on(std::size_t queued_bytes) {
    return queue_.went_on(queued_bytes) && queued_bytes > 0;
  }
  // Of its body, so many bytes are known of.
  void look_for_refusal(std::uint64_t body_bytes) {
    const ClientInfo* client = find_client();
    refusal = client != nullptr ? handler_->refuse_by_head(request, *client, body_bytes)
                                : std::optional(kNoClient);
    count_form(handler_->request_bytes());
  }
  // The canonical form of its head takes so much, until its exchange runs.
  void count_form(std::size_t bytes) {
    session_->forms_bytes_ += bytes - std::exchange(form_bytes_, bytes);
  }
  // False: it was not refused.
  [[nodiscard]] bool answer_refusal() {
    const auto what = std::exchange(refusal, std::nullopt);
    if (what) error(what->status, what->reason);
    return what.has_value();
  }
  void stop_waiting() {
    disarm();
    progress_.restart();
  }
  // False when the exchange runs on, for nobody.
  [[nodiscard]] bool leave() {
    stop_waiting();
    if (handler_->reads_fast()) {
      orphaned_ = true;
      return false;
    }
    handler_->abandon();
    return true;
  }
  void abandon() {
    disarm();
    intake_.drop();
    handler_->abandon();
    asking_bytes_ = 0;  // the session's share is given back as a whole
  }
  void shrink() {
    refusal.reset();
    count_asking(0);
    intake_.drop();
    release(kKeptBytesMax);
    handler_->shrink(kKeptBytesMax);
  }
  // Its answer is handed over, and the client may take its time for that.
  void let_go_of_request() {
    count_asking(0);
    release_fields(0);
    if (handler_->is_idle()) {
      release(0);
      handler_->shrink(0);
    } else {
      keep_request();
    }
  }
  // Until other answers in blocks have ended, which the client may take its time for as well.
  void wait_for_blocks() {
    count_asking(0);
    keep_request();
    wait_in(session_->http2_.timeouts.send, 0);
  }
  // An answer in blocks goes on, or begins.
  void go_on() { handler_->on_writable(); }
  // What its head, or that there is a body, is refused for, while the body still comes.
  std::optional<sketch::Refusal> refusal;
  // Nobody knew the length of its body when it began.
  bool is_open_ended = false;
  // What its answer in blocks may hold.
  std::size_t block_bytes = 0;
  // What is left of its request, to ask origins for that, or for the rest of it.
  std::size_t kept_bytes = 0;
  void error(std::uint16_t status, std::string_view reason) {
    const AnswerContext context = answer_context();
    session_->send(*this, Answer(status, reason, context), nullptr);
  }

 private:
  static constexpr sketch::Refusal kNoClient{400, "a member's request without its client"};

  // Whose request it is; null: a member has not said.
  [[nodiscard]] const ClientInfo* find_client() {
    if (!session_->is_member()) return &session_->host_.client();
    if (!client_) client_ = std::make_unique<ClientInfo>();
    return read_client(said_by_proxy, scheme(), session_->http2_.trusted_peers, *client_)
               ? client_.get()
               : nullptr;
  }
  void keep_request() {
    const std::size_t bytes = request_bytes() + handler_->request_bytes();
    session_->kept_bytes_ += bytes - std::exchange(kept_bytes, bytes);
  }
  void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                 std::string* storage) override {
    if (std::exchange(orphaned_, false)) return session_->recycle(*this);
    const AnswerContext context = answer_context();
    session_->send(*this, Answer(form, sketch, context), storage);
  }
  [[nodiscard]] bool has_left() const override { return orphaned_; }
  void on_error(std::uint16_t status, std::string_view reason) override {
    if (std::exchange(orphaned_, false)) return session_->recycle(*this);
    error(status, reason);
  }
  // HTTP/2 knows no Upgrade: such a field makes a request malformed.
  void on_tunnel(TunnelRequest /*tunnel*/) override { on_error(501, "no tunnel in HTTP/2"); }
  bool may_take_blocks(std::uint32_t bytes_of_each) override {
    return session_->may_take_blocks(*this, bytes_of_each);
  }
  void on_large_begin(const sketch::AnswerForm& form,
                      const std::optional<Sketch>& sketch) override {
    const AnswerContext context = answer_context();
    session_->begin(*this, Answer(form, sketch, context));
  }
  bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) override {
    session_->append(*this, storage, begin, size);
    return false;
  }
  void on_large_end(bool whole) override {
    whole ? session_->finish(*this) : session_->cut_off(*this);
  }
  void on_passed(const http::Response& answer) override {
    const AnswerContext context = answer_context();
    session_->send(*this, Answer(answer, answer.body.size(), context), nullptr);
  }
  void on_passed_begin(const http::Response& head, std::uint64_t size) override {
    const AnswerContext context = answer_context();
    session_->begin(*this, Answer(head, size, context));
  }
  void on_body_refused() override { session_->refuse_body(*this); }
  void on_timeout() override { session_->on_stream_timeout(*this); }
  void on_give_way() override { session_->end_late(*this); }
  [[nodiscard]] std::size_t held_bytes() const override {
    return received() ? answer_bytes() + kept_bytes : request_bytes();
  }

  void count_asking(std::size_t bytes) {
    HeldBytes::Share& all = session_->asking_;
    all.set(all.bytes() - std::exchange(asking_bytes_, bytes) + bytes);
  }

  [[nodiscard]] AnswerContext answer_context() const {
    return {.answers_head = request.method == "HEAD",
            .conditions = conditions_of(request),
            .date = session_->resources_.date.now(),
            .via = session_->resources_.via,
            .ruling = handler_->ruling()};
  }

  Http2Session* session_ = nullptr;
  BodyIntake intake_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<ClientInfo> client_;  // of a member's request
  LeastProgress progress_;
  QueueProgress queue_;
  std::size_t asking_bytes_ = 0;
  std::size_t form_bytes_ = 0;
  bool orphaned_ = false;
};

}  // namespace prophecy::sketcher
