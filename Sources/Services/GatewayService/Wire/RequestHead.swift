/// A request head by position: every span points into the bytes it was parsed from.
struct RequestHead {
    var method = Method.get
    /// Path and query as sent.
    var target = Span.none
    var path = Span.none
    /// With its question mark; empty when there is none.
    var query = Span.none
    /// HTTP/1.`minor`.
    var minor: UInt8 = 1
    var fields: [Field] = []

    /// Nil without `Content-Length`.
    var contentLength: Int64?
    var isChunked = false
    /// What the client asks for; the gateway may close nevertheless.
    var keepsAlive = true
    var expectsContinue = false
    var connectionNamesUpgrade = false
    /// `Connection` names fields beyond the usual ones, which must be stripped too.
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
    var authorization = -1
    var apiKey = -1
    var sentryAuth = -1
    var origin = -1
    var accessControlRequestMethod = -1
    var accessControlRequestHeaders = -1

    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Starts over, keeping the storage of `fields`.
    mutating func reset() {
        var fields = self.fields
        self.fields = []
        fields.removeAll(keepingCapacity: true)
        self = RequestHead()
        self.fields = fields
    }

    /// The value of the field at `index`, nil when `index` says absent.
    @inline(__always)
    func value(_ index: Int, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        index < 0 ? nil : bytes[fields[index].value]
    }
}
