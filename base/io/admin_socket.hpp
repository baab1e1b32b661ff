// A control door for operators: a Unix socket that takes one line of JSON and answers with one
// line of JSON, then closes. Only the owner of the process may open it (mode 0600). Bounded in
// connections, in bytes and in time, so that a tool that hangs cannot hold a server up.
//
//   {"command":"status"}\n   -->   {"replica":0, ...}\n
//
// With a request, a tool may hand over files that it has opened with its own rights.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy {

constexpr std::size_t kAdminRequestBytesMax = 64 << 10;
constexpr std::size_t kAdminAnswerBytesMax = 64 << 20;
constexpr std::size_t kAdminConnectionsMax = 16;
constexpr std::size_t kAdminFilesMax = 2;  // with one request

// Single-threaded. Its io_context must not run any more once the server is destroyed.
class AdminServer {
 public:
  // Gets the request line without its end, returns the answer without one.
  using Handler = std::function<std::string(std::string_view request_line)>;
  // The same, of a request that came with files.
  using FileHandler =
      std::function<std::string(std::string_view request_line, std::vector<UniqueFd> files)>;

  // A socket file that nobody listens on any more is replaced; anything else at that path is an
  // error, and stays as it is.
  [[nodiscard]] static Result<std::unique_ptr<AdminServer>> listen(boost::asio::io_context& io,
                                                                   std::filesystem::path path,
                                                                   Handler handler);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // Unless this was called, requests with files are refused.
  void take_files(FileHandler handler) { file_handler_ = std::move(handler); }

  // Closes everything and removes the socket file, if it still is one.
  void stop();
  // In a forked child: closes what was inherited, and leaves the file to the parent.
  void abandon();

 private:
  class Connection;
  using Protocol = boost::asio::local::stream_protocol;

  AdminServer(boost::asio::io_context& io, std::filesystem::path path, Handler handler);
  void accept();
  void close_all();

  Protocol::acceptor acceptor_;
  boost::asio::steady_timer accept_pause_;  // after an error, as when descriptors are used up
  std::filesystem::path path_;
  Handler handler_;
  FileHandler file_handler_;
  std::vector<std::shared_ptr<Connection>> connections_;
  bool owns_file_ = false;
};

// For tools: sends one line, waits for the answer. Blocks at most `timeout`. Of `files`, which stay
// the caller's, there may be kAdminFilesMax.
[[nodiscard]] Result<std::string> admin_request(const std::filesystem::path& path,
                                                std::string_view request_line, Duration timeout,
                                                std::span<const int> files = {});

}  // namespace prophecy
