// Brotli (RFC 7932), decoder and encoder.
#include <brotli/decode.h>
#include <brotli/encode.h>
