// Brotli (RFC 7932), the half that unpacks.
#include <brotli/decode.h>
