#pragma once

/* curl_easy_setopt checks types only if the option is a constant, which it is not in the functions below. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

static inline CURLcode martlet_curl_initialize(void) {
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Swift cannot call variadic functions, so there is one function for each kind of argument. */

static inline CURLcode martlet_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode martlet_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode martlet_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode martlet_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode martlet_curl_set_read(CURL *handle, curl_read_callback function) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, function);
}

static inline CURLcode martlet_curl_set_header(CURL *handle, curl_write_callback function) {
    return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, function);
}

static inline CURLcode martlet_curl_set_progress(CURL *handle, curl_xferinfo_callback function) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
}

static inline CURLcode martlet_curl_set_open_socket(CURL *handle, curl_opensocket_callback function) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline CURLcode martlet_curl_response_code(CURL *handle, long *code) {
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, code);
}

/* Swift does not import macros that contain a cast. */
static const curl_socket_t martlet_curl_bad_socket = CURL_SOCKET_BAD;
