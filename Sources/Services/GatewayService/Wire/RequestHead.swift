/// A parsed request head. All spans refer to the bytes it was parsed from.
struct RequestHead {
    var method = Method.get
    /// Path and query as sent.
    var target = Span.none
    var path = Span.none
    /// Includes the question mark; empty without a query.
    var query = Span.none
    /// HTTP/1.`minor`.
    var minor: UInt8 = 1
    var fields: [Field] = []

    /// Nil without `Content-Length`.
    var contentLength: Int64?
    var isChunked = false
    /// The client's wish; the gateway may close the connection anyway.
    var keepsAlive = true
    var expectsContinue = false
    var connectionNamesUpgrade = false
    /// `Connection` lists fields beyond the usual ones, which must be stripped too.
    var connectionNamesFields = false

    // Indices into `fields`; -1 when absent.
    var host = -1
    var connection = -1
    var upgrade = -1
    var secret = -1
    var masterKey = -1
    var environment = -1
    var user = -1
    var requestID = -1
    var forwardedFor = -1
    /// -2 if it was repeated, which makes it invalid (W3C Trace Context §3.2.2).
    var traceparent = -1
    var authorization = -1
    var apiKey = -1
    var sentryAuth = -1
    var cookie = -1
    var dashboard = -1
    var fetchSite = -1
    var origin = -1
    var accessControlRequestMethod = -1
    var accessControlRequestHeaders = -1

    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Resets all values but keeps the storage of `fields`.
    mutating func reset() {
        var fields = self.fields
        self.fields = []
        fields.removeAll(keepingCapacity: true)
        self = RequestHead()
        self.fields = fields
    }

    /// The value of the field at `index`; nil if `index` is negative.
    @inline(__always)
    func value(_ index: Int, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        index < 0 ? nil : bytes[fields[index].value]
    }
}
