#include "sketcher/master/certificate_watch.hpp"

#include <utility>

#include <sys/stat.h>

namespace prophecy::sketcher {
namespace {

using Files = std::vector<std::filesystem::path>;

void add(Files& files, const transport::CertificateFiles& certificate) {
  files.push_back(certificate.chain);
  files.push_back(certificate.key);
  if (certificate.ocsp) files.push_back(*certificate.ocsp);
}

void add(Files& files, const std::optional<transport::TlsClientSettings>& tls) {
  if (!tls) return;
  files.push_back(tls->ca);
  if (tls->certificate) add(files, *tls->certificate);
}

Files files_of(const Settings& settings) {
  Files files;
  for (const ListenerSettings& listener : settings.listeners) {
    if (!listener.tls) continue;
    for (const transport::CertificateFiles& certificate : listener.tls->certificates)
      add(files, certificate);
    if (!listener.tls->client_ca.empty()) files.push_back(listener.tls->client_ca);
  }
  for (const GroupSettings& group : settings.groups) {
    for (const OriginAddress& origin : group.origins)
      add(files, origin.tls);
    for (const ShadowSettings& shadow : group.shadows)
      add(files, shadow.origin.tls);
  }
  if (settings.ring) {
    files.push_back(settings.ring->ca);
    add(files, settings.ring->certificate);
    if (settings.ring->living) add(files, settings.ring->living->zookeeper_tls);
  }
  return files;
}

}  // namespace

CertificateWatch::CertificateWatch(boost::asio::io_context& loop, const Installation& installation,
                                   std::function<void()> on_changed)
    : timer_(loop),
      interval_(installation.settings.certificates_looked_at),
      on_changed_(std::move(on_changed)),
      files_(files_of(installation.settings)) {}

void CertificateWatch::start() {
  if (files_.empty() || interval_ == Duration::zero()) return;
  note_read();
  wait();
}

std::vector<CertificateWatch::State> CertificateWatch::look() const {
  std::vector<State> states;
  states.reserve(files_.size());
  for (const std::filesystem::path& file : files_) {
    struct stat status {};
    states.emplace_back();
    if (::stat(file.c_str(), &status) != 0) continue;
    states.back() = {.device = status.st_dev,
                     .number = status.st_ino,
                     .size = status.st_size,
                     .changed_s = status.st_ctim.tv_sec,
                     .changed_ns = status.st_ctim.tv_nsec};
  }
  return states;
}

void CertificateWatch::wait() {
  timer_.expires_after(interval_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    std::vector<State> now = look();
    if (now == last_ && now != read_) {
      read_ = now;
      on_changed_();
    }
    last_ = std::move(now);
    wait();
  });
}

}  // namespace prophecy::sketcher
