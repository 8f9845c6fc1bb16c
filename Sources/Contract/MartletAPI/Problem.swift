/// An error answer: `application/problem+json` (RFC 9457) with a registered `code`.
///
/// `{"type":"urn:martlet:error:<code>","title":…,"status":…,"detail":…,"code":…,"field":…,"rows":[…],"findings":[…],"requestId":…}`;
/// `detail`, `field`, `rows`, `findings` and `requestId` may be absent; `message` is there under `/segment` only.
public struct Problem: Codable, Sendable, Equatable {
    public static let contentType = "application/problem+json"

    /// What is wrong with one of many things that came together.
    public struct Row: Codable, Sendable, Equatable {
        /// Its place, from 0.
        public var row: Int
        public var field: String?
        public var reason: String

        public init(row: Int, field: String?, reason: String) {
            self.row = row
            self.field = field
            self.reason = reason
        }
    }

    /// What is wrong or doubtful at a place of a document.
    public struct Finding: Codable, Sendable, Equatable {
        public enum Severity: String, Codable, Sendable {
            /// Keeps the document from being published.
            case error
            case warning
        }

        public var severity: Severity
        /// What it is, in small letters and hyphens, the same for every occurrence.
        public var code: String
        /// Where (JSON Pointer, RFC 6901).
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
    /// A sentence for the developer who sent the request; carries no secret and no cause inside the server.
    public var detail: String?
    public var code: String
    /// The field, parameter or path component that is at fault.
    public var field: String?
    /// Where many things came together: each that is at fault.
    public var rows: [Row]?
    /// Where a document was checked: what was found.
    public var findings: [Finding]?
    public var requestId: String?
    /// `detail`, or `title` without one: Segment's and RudderStack's clients look for it beside `code`, and take an
    /// answer without it for a network that failed. Under `/segment` only.
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
