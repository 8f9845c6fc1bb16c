import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1

/// Calls identity providers through an `OutgoingClient`: only by https and at public addresses. If the settings allow
/// private addresses, also by http on this machine.
struct ProviderClient: Sendable {
    static let maximumAnswerSizeInBytes = 256 << 10
    private static let timeout: Duration = .seconds(10)

    private let arePrivateAddressesAllowed: Bool
    private let client: OutgoingClient
    private let semaphore = AsyncSemaphore(
        limit: 32, maximumWaiting: 256,
        refusal: ServiceError(.unavailable, "Too many sign-ins are in progress; try again."))

    init(arePrivateAddressesAllowed: Bool) {
        self.arePrivateAddressesAllowed = arePrivateAddressesAllowed
        client = OutgoingClient(arePrivateAddressesAllowed ? .anywhere : .publicAddresses())
    }

    struct Answer: Sendable {
        var status: Int
        /// Nil if the body is not JSON.
        var json: JSONValue?
    }

    /// - Parameter token: The bearer token.
    /// - Throws: `ProviderFailure`, also for any status but 200; `ServiceError` if too many requests are waiting;
    ///   `CancellationError`.
    func get(_ url: String, token: String? = nil) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url)
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        let answer = try await send(request)
        guard answer.status == 200 else { throw ProviderFailure.status(answer.status) }
        guard let json = answer.json else { throw ProviderFailure.malformedAnswer }
        return json
    }

    /// - Parameter basic: The user and password (RFC 6749 §2.3.1).
    func post(_ url: String, form: [(String, String)], basic: (String, Secret)? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let (user, password) = basic {
            let text = password.withValue { "\(FormBody.encode(user)):\(FormBody.encode($0))" }
            request.headers.add(name: "authorization", value: "Basic \(Data(text.utf8).base64EncodedString())")
        }
        request.body = .bytes(ByteBuffer(string: FormBody.encode(form)))
        return try await send(request)
    }

    private func send(_ request: HTTPClientRequest) async throws -> Answer {
        var request = request
        request.headers.add(name: "accept", value: "application/json")
        // GitHub requires a user agent.
        request.headers.add(name: "user-agent", value: "Martlet")
        let complete = request
        try host(of: complete.url)
        return try await semaphore.withPermit {
            try await Self.mappingFailures {
                let answer = try await RequestUsage.waiting {
                    try await client.send(complete, within: Self.timeout, upTo: Self.maximumAnswerSizeInBytes)
                }
                return Answer(status: answer.status, json: try? JSONValue(parsing: answer.body.readableBytesView))
            }
        }
    }

    /// Checks that calls to the address are allowed.
    ///
    /// - Throws: `ProviderFailure`. A host name that does not resolve passes, because it may resolve later.
    func check(_ url: String) async throws {
        try await Self.mappingFailures { try await client.check(url, isPlainHTTPAllowed: isPlainHTTPAllowed) }
    }

    /// Checks the form of a URL that is to be called or opened by users, and returns its host.
    ///
    /// - Throws: `ProviderFailure`.
    @discardableResult
    func host(of url: String) throws -> String {
        do {
            return try OutgoingClient.host(of: url, isPlainHTTPAllowed: isPlainHTTPAllowed)
        } catch let failure as OutgoingFailure {
            throw ProviderFailure.call(failure)
        }
    }

    private func isPlainHTTPAllowed(_ host: String) -> Bool { arePrivateAddressesAllowed && Loopback.contains(host) }

    private static func mappingFailures<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let failure as OutgoingFailure {
            throw ProviderFailure.call(failure)
        }
    }
}

/// The names of this machine.
enum Loopback {
    static func contains(_ host: String) -> Bool { ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host) }
}

/// Why a provider gave no usable answer.
enum ProviderFailure: Error, Sendable, Equatable {
    case call(OutgoingFailure)
    case status(Int)
    case malformedAnswer
    /// The provider's settings lack something that is needed, such as an address for the code flow.
    case missing(String)
    /// The provider refused with this error code (RFC 6749 §5.2).
    case refused(String)

    /// The failure as a sentence for the log and for those who manage providers.
    var sentence: String {
        switch self {
        case .call(let failure): failure.cause
        case .status(let status): "The provider answered with the status \(status)."
        case .malformedAnswer: "The provider's answer does not have the expected form."
        case .missing(let what): "The provider's \(what) is unknown."
        case .refused(let code): "The provider refused with the error \(code)."
        }
    }
}

/// `application/x-www-form-urlencoded` (WHATWG URL §5).
enum FormBody {
    static func encode(_ fields: [(String, String)]) -> String {
        FormFields.encode(fields.map { (name: $0.0, value: $0.1) })
    }

    static func encode(_ text: String) -> String { FormFields.encode(text) }

    /// If a name occurs twice, the first value counts. Nil if the text is malformed.
    static func decode(_ text: some StringProtocol) -> [String: String]? {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0).replacing("+", with: " ").removingPercentEncoding }
            guard let name = parts[0], let value = parts.count > 1 ? parts[1] : "" else { return nil }
            if fields[name] == nil { fields[name] = value }
        }
        return fields
    }
}

extension JSONValue {
    /// The value of a member if it is a string.
    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    /// The elements of a member if it is a list, otherwise none.
    func list(_ name: String) -> [JSONValue] {
        if case .array(let elements) = self[name] { elements } else { [] }
    }
}
