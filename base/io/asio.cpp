// The one translation unit with Asio's out-of-line code; see asio_dep in meson.build.
#include <boost/asio/impl/src.hpp>
