// Plots as PNG files. A headless Chromium draws them from the same text as the SVG files.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "measurement/figures.hpp"

namespace prophecy::measurement {

// Replaces files of the same names in a folder that exists. `temporary_folder` is for the browser.
[[nodiscard]] Result<> write_png_plots(const Figures& figures, const std::filesystem::path& folder,
                                       const std::string& browser,
                                       const std::filesystem::path& temporary_folder);

}  // namespace prophecy::measurement
