#include "measurement/capture/plain_fetcher.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "measurement/capture/wall_clock.hpp"

namespace prophecy::measurement {
namespace {

constexpr auto kPollPause = milliseconds(50);
constexpr std::uint64_t kPauseSecondsMax = 3600;
constexpr long kConnectSeconds = 10;
constexpr const char* kAgent = "prophecy-measure/" PROPHECY_VERSION;

struct Curl {
  Curl() { ASSERT(::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); }
};

std::string_view trimmed_value(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  return text;
}

}  // namespace

// One request and its answer.
struct PlainFetcher::Transfer {
  CURL* handle = nullptr;
  curl_slist* fields = nullptr;
  curl_slist* connect_to = nullptr;
  CapturedAnswer answer;
  std::uint64_t body_bytes_max = 0;
  bool is_too_large = false;
  char problem[CURL_ERROR_SIZE] = {};

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    ::curl_easy_cleanup(handle);
    ::curl_slist_free_all(fields);
    ::curl_slist_free_all(connect_to);
  }

  static std::size_t on_field(char* data, std::size_t size, std::size_t count, void* transfer) {
    auto& self = *static_cast<Transfer*>(transfer);
    const std::string_view line = trimmed_value({data, size * count});
    // An interim answer comes before the one that counts; trailers come behind the body.
    if (line.starts_with("HTTP/")) {
      self.answer.fields.clear();
    } else if (const std::size_t colon = line.find(':');
               colon != std::string_view::npos && self.answer.body.empty()) {
      self.answer.fields.emplace_back(line.substr(0, colon), trimmed_value(line.substr(colon + 1)));
    }
    return size * count;
  }
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* transfer) {
    auto& self = *static_cast<Transfer*>(transfer);
    self.is_too_large = self.answer.body.size() + size * count > self.body_bytes_max;
    if (self.is_too_large) return 0;
    self.answer.body.append(data, size * count);
    return size * count;
  }
};

struct PlainFetcher::Host {
  std::deque<const ListedUrl*> waiting;
  std::unique_ptr<Transfer> transfer;  // null: none is under way
  TimePoint next;
};

// The state of fetch().
class PlainFetcher::Round {
 public:
  Round(PlainFetcher& fetcher, const AnswerTaker& take, std::vector<std::string>& problems)
      : fetcher_(fetcher), take_(take), problems_(problems), multi_(::curl_multi_init()) {
    ASSERT(multi_ != nullptr);
  }
  ~Round() {
    for (auto& [name, host] : hosts_) {
      if (host.transfer) ::curl_multi_remove_handle(multi_, host.transfer->handle);
    }
    hosts_.clear();
    ::curl_multi_cleanup(multi_);
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  void add(const ListedUrl& url) { hosts_[url.host].waiting.push_back(&url); }

  [[nodiscard]] Result<RoundFigures> run(StopSignals& stop) {
    for (;;) {
      const TimePoint now = std::chrono::steady_clock::now();
      if (!begin_transfers(now) && running_ == 0) return figures_;
      int active = 0;
      ::curl_multi_perform(multi_, &active);
      if (auto taken = take_finished(); !taken) return std::move(taken.error());
      ::curl_multi_poll(multi_, nullptr, 0, static_cast<int>(kPollPause.count()), nullptr);
      if (stop.has_come()) return figures_;
    }
  }

 private:
  // False: no URL waits.
  bool begin_transfers(TimePoint now) {
    bool waits = false;
    for (auto& [name, host] : hosts_) {
      if (host.waiting.empty()) continue;
      if (const auto paused = fetcher_.paused_until_.find(name);
          paused != fetcher_.paused_until_.end() && paused->second > now) {
        figures_.skipped += host.waiting.size();
        problems_.push_back(
            fmt::format("{}: asked for a pause; {} URLs were skipped", name, host.waiting.size()));
        host.waiting.clear();
        continue;
      }
      waits = true;
      if (host.transfer || now < host.next || running_ >= fetcher_.options_.parallel) continue;
      begin(host);
    }
    return waits;
  }

  void begin(Host& host) {
    host.transfer = std::make_unique<Transfer>();
    Transfer& transfer = *host.transfer;
    const FetchOptions& options = fetcher_.options_;
    transfer.answer.url = host.waiting.front()->url;
    transfer.answer.time = wall_clock();
    transfer.body_bytes_max = options.body_bytes_max;
    host.waiting.pop_front();
    CURL* handle = transfer.handle = ::curl_easy_init();
    ASSERT(handle != nullptr);
    // The content as a sketcher asks for it.
    transfer.fields = ::curl_slist_append(nullptr, "Accept-Encoding: identity");
    for (const std::string& rule : options.resolve) {
      const std::size_t split = rule.find('=');
      const std::string entry = rule.substr(0, split) + "::" + rule.substr(split + 1) + ":";
      transfer.connect_to = ::curl_slist_append(transfer.connect_to, entry.c_str());
    }
    ::curl_easy_setopt(handle, CURLOPT_URL, transfer.answer.url.c_str());
    ::curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    ::curl_easy_setopt(handle, CURLOPT_USERAGENT, kAgent);
    ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer.fields);
    if (transfer.connect_to != nullptr) {
      ::curl_easy_setopt(handle, CURLOPT_CONNECT_TO, transfer.connect_to);
    }
    ::curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    ::curl_easy_setopt(handle, CURLOPT_TIMEOUT, static_cast<long>(options.timeout_s));
    if (!options.ca_file.empty()) {
      ::curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
    }
    ::curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer.problem);
    ::curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_field);
    ::curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    ::curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    ::curl_easy_setopt(handle, CURLOPT_PRIVATE, &host);
    ::curl_multi_add_handle(multi_, handle);
    ++running_;
  }

  [[nodiscard]] Result<> take_finished() {
    int left = 0;
    while (const CURLMsg* message = ::curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Host* host = nullptr;
      ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &host);
      const CURLcode outcome = message->data.result;
      ::curl_multi_remove_handle(multi_, message->easy_handle);
      --running_;
      const auto transfer = std::move(host->transfer);
      host->next = std::chrono::steady_clock::now() + milliseconds(fetcher_.options_.delay_ms);
      if (auto ended = end(*transfer, outcome); !ended) return ended;
    }
    return {};
  }

  [[nodiscard]] Result<> end(Transfer& transfer, CURLcode outcome) {
    CapturedAnswer& answer = transfer.answer;
    if (outcome != CURLE_OK) {
      ++figures_.failures;
      const char* problem = transfer.is_too_large         ? "larger than --body-max"
                            : transfer.problem[0] != '\0' ? transfer.problem
                                                          : ::curl_easy_strerror(outcome);
      problems_.push_back(answer.url + ": " + problem);
      return {};
    }
    long status = 0;
    const char* address = nullptr;
    ::curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    ::curl_easy_getinfo(transfer.handle, CURLINFO_PRIMARY_IP, &address);
    answer.status = static_cast<std::uint16_t>(status);
    if (address != nullptr) answer.address = address;
    if (status == 429 || status == 503) note_pause(answer);
    ++figures_.answers;
    return take_(answer);
  }

  void note_pause(const CapturedAnswer& answer) {
    for (const auto& [name, value] : answer.fields) {
      std::uint64_t asked = 0;
      if (!http::equal_ignoring_case(name, "retry-after")) continue;
      // A date is taken as a minute.
      if (!http::parse_decimal(value, asked)) asked = 60;
      const std::size_t begin = answer.url.find("://") + 3;
      const std::string host = answer.url.substr(begin, answer.url.find('/', begin) - begin);
      fetcher_.paused_until_[host] =
          std::chrono::steady_clock::now() + seconds(std::min(asked, kPauseSecondsMax));
    }
  }

  PlainFetcher& fetcher_;
  const AnswerTaker& take_;
  std::vector<std::string>& problems_;
  CURLM* multi_;
  std::map<std::string, Host> hosts_;
  std::uint64_t running_ = 0;
  RoundFigures figures_;
};

PlainFetcher::PlainFetcher(FetchOptions options) : options_(std::move(options)) {
  static const Curl library;
}

PlainFetcher::~PlainFetcher() = default;

Result<RoundFigures> PlainFetcher::fetch(const std::vector<ListedUrl>& list,
                                         const AnswerTaker& take, StopSignals& stop,
                                         std::vector<std::string>& problems) {
  Round round(*this, take, problems);
  for (const ListedUrl& url : list)
    round.add(url);
  return round.run(stop);
}

}  // namespace prophecy::measurement
