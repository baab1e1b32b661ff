// A part store in a folder: FOLDER/parts/ab/cdef..., named by the digests in hexadecimal.
//
// Writes go to a temporary name that is renamed. One sync of the file system for however many
// parts: each of its own would wait for the disk once more, thousands of times for a large state.
// (It tells of errors since Linux 5.8.)
#pragma once

#include <filesystem>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/error.hpp"
#include "pbft/storage/file_part_store.hpp"
#include "pbft/storage/store_settings.hpp"

namespace prophecy::pbft {

// Takes note of all parts that lie there; nothing is pinned. Requires that the process holds the
// folder's store open (pbft/storage/store.hpp), which locks it. The executor, whose thread is the
// store's, must not run any more once the store is destroyed.
[[nodiscard]] Result<std::unique_ptr<FilePartStore>> open_part_store(
    const StoreSettings& settings, boost::asio::io_context::executor_type executor);

}  // namespace prophecy::pbft
