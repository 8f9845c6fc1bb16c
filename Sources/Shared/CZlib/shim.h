// zlib, for gzip (RFC 1952).
#include <zlib.h>

// These functions call macros, which Swift does not import.
// deflateInit2 with a window of 2^15 bytes; 16 more selects gzip's header and trailer.
static inline int martlet_gzip_begin(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

// The same with a window of 2^bits bytes and smaller tables, so that less memory is cleared for a small input.
static inline int martlet_gzip_begin_small(z_stream *stream, int level, int bits) {
    return deflateInit2(stream, level, Z_DEFLATED, bits + 16, bits - 7, Z_DEFAULT_STRATEGY);
}

// inflateInit2. `window` also selects the format.
static inline int martlet_inflate_begin(z_stream *stream, int window) {
    return inflateInit2(stream, window);
}
