/// An error answer: `application/problem+json` (RFC 9457) with a registered `code`.
///
/// `{"type":"urn:martlet:error:<code>","title":…,"status":…,"detail":…,"code":…,"field":…,"rows":[…],"findings":[…],"requestId":…}`;
/// `detail`, `field`, `rows`, `findings` and `requestId` may be absent; `message` is only present under `/segment`.
public struct Problem: Codable, Sendable, Equatable {
    public static let contentType = "application/problem+json"

    /// An error in one of several items of a request.
    public struct Row: Codable, Sendable, Equatable {
        /// The item's index, from 0.
        public var row: Int
        public var field: String?
        public var reason: String

        public init(row: Int, field: String?, reason: String) {
            self.row = row
            self.field = field
            self.reason = reason
        }
    }

    /// An error or warning about a part of a document.
    public struct Finding: Codable, Sendable, Equatable {
        public enum Severity: String, Codable, Sendable {
            /// Prevents the document from being published.
            case error
            case warning
        }

        public var severity: Severity
        /// Identifies the kind of finding, in lower case with hyphens; the same for every occurrence.
        public var code: String
        /// The location (JSON Pointer, RFC 6901).
        public var path: String
        public var message: String

        public init(_ severity: Severity, _ code: String, at path: String, _ message: String) {
            self.severity = severity
            self.code = code
            self.path = path
            self.message = message
        }
    }

    public var type: String
    public var title: String
    public var status: Int
    /// A sentence for the developer who sent the request. Contains no secrets and no causes inside the server.
    public var detail: String?
    public var code: String
    /// The invalid field, parameter or path component.
    public var field: String?
    /// For a request with several items: the invalid ones.
    public var rows: [Row]?
    /// For a document that was checked: the findings.
    public var findings: [Finding]?
    public var requestId: String?
    /// `detail`, or `title` if there is none. The clients of Segment and RudderStack expect this member and treat an
    /// answer without it as a network failure. Only present under `/segment`.
    public var message: String?

    public init(
        _ code: ErrorCode, detail: String? = nil, field: String? = nil, rows: [Row]? = nil, findings: [Finding]? = nil,
        requestId: String? = nil
    ) {
        self.type = "urn:martlet:error:" + code.rawValue
        self.title = code.title
        self.status = code.status
        self.detail = detail
        self.code = code.rawValue
        self.field = field
        self.rows = rows
        self.findings = findings
        self.requestId = requestId
    }
}
