/// Answers CORS preflight requests of browsers (Fetch Standard, CORS-preflight).
enum Preflight {
    /// Response headers that pages of other origins may read, in addition to the CORS-safelisted ones (Fetch Standard).
    /// Includes the headers that services send; a test compares the list with the sources.
    static let exposedHeaders = """
        x-request-id, retry-after, location, etag, link, allow, www-authenticate, accept-ranges, content-range, content-disposition, \
        config-version, translation-version, experiments, idempotency-replayed, skipped-texts, \
        tus-resumable, tus-version, tus-extension, tus-max-size, upload-offset, upload-length, upload-expires, upload-metadata, \
        x-next-cursor, x-sentry-rate-limits, x-sentry-error
        """

    /// Nil if the request is not a preflight or no route matches its path; it is then handled like any other.
    static func answer(
        _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ origin: String?, _ routes: RouteTable
    ) -> Answer? {
        guard head.method == .options, origin != nil, head.accessControlRequestMethod >= 0,
            let methods = routes.methods(head.path, in: bytes)
        else { return nil }
        var answer = Answer(status: 204)
        answer.headers.append(("access-control-allow-methods", methods))
        answer.headers.append(("access-control-max-age", "600"))
        if let wanted = head.value(head.accessControlRequestHeaders, in: bytes) {
            answer.headers.append(("access-control-allow-headers", wanted.text))
        }
        return answer
    }
}
