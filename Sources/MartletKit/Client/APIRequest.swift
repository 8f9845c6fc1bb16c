import Foundation

/// A call of the server's API, without address and credentials.
package struct APIRequest: Sendable {
    enum Caller: Sendable, Hashable {
        /// The app itself, even if a user is signed in.
        case app
        /// The signed-in user if there is one, otherwise the app.
        case userIfSignedIn
        /// The signed-in user. Without one the call fails with `notSignedIn`.
        case user
    }

    package enum Repetition: Sendable {
        /// Repeating the call does no harm.
        case idempotent
        /// The server carries out a repetition with the same key only once.
        case idempotencyKey(String)
        /// The call is repeated only if it was certainly not carried out.
        case onlyIfNotDone
    }

    var method: String
    /// The path below `/api/{appKey}/`, percent-encoded: `storage/Notes/n1`.
    var path: String
    package var query: [(name: String, value: String)] = []
    package var headers: HTTPHeaders = [:]
    var body: Data?
    var caller = Caller.userIfSignedIn
    /// The id of the user who must be signed in; otherwise the call fails with `notSignedIn`. `.some(nil)`: no user may
    /// be signed in. Nil: any state is accepted.
    package var expectedUser: String??
    var repetition: Repetition
    /// The time limit of one attempt in seconds; nil: the client's.
    var timeout: TimeInterval?
    /// The maximum number of attempts, if the client's policy allows more.
    var maximumAttempts = Int.max
    /// The maximum size of the answer in bytes; nil: the transport's limit. A transport aborts longer answers.
    package var maximumAnswerSize: Int?
    var progress: (@Sendable (Int64) -> Void)?

    package init(_ method: String, _ path: String, json: JSON? = nil, repetition: Repetition? = nil) {
        self.method = method
        self.path = path
        self.repetition = repetition ?? (["GET", "HEAD"].contains(method) ? .idempotent : .onlyIfNotDone)
        if let json {
            body = json.data
            headers["content-type"] = "application/json"
        }
    }

    /// A write of the storage service, which remembers idempotency keys.
    package static func write(_ method: String, _ path: String, json: JSON? = nil) -> APIRequest {
        APIRequest(method, path, json: json, repetition: .idempotencyKey(UUID().uuidString))
    }

    /// Percent-encodes a part of a path, so that a slash or question mark does not end it.
    package static func escape(_ part: String) -> String {
        part.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// The characters of RFC 3986 §2.3, and further ones that object ids and file paths may contain.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    func url(under base: URL, appKey: String) -> URL? {
        var text = base.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        text += "/api/" + Self.escape(appKey) + "/" + path
        if !query.isEmpty {
            text += "?" + query.map { Self.escape($0.name) + "=" + Self.escape($0.value) }.joined(separator: "&")
        }
        return URL(string: text)
    }
}
