import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1

/// Asks identity providers.
///
/// No redirect is followed, no cookie kept, no answer read beyond `maximumAnswerSizeInBytes`. Only https is spoken, and only to addresses of
/// the public internet; where the settings allow private ones, also http to this machine. The address that a connection really has is looked at
/// before anything is sent on it.
final class ProviderClient: Sendable {
    static let maximumAnswerSizeInBytes = 256 << 10
    static let maximumURLLength = 2_048
    private static let timeout: Duration = .seconds(10)

    private let arePrivateAddressesAllowed: Bool
    private let client: HTTPClient
    private let gate = Gate(limit: 32, maximumWaiting: 256, refusal: HTTPProblem(.unavailable, "Too many people sign in at this moment: try again."))

    init(arePrivateAddressesAllowed: Bool) {
        self.arePrivateAddressesAllowed = arePrivateAddressesAllowed
        var http = HTTPClient.Configuration()
        http.redirectConfiguration = .disallow
        http.httpVersion = .http1Only
        http.connectionPool.retryConnectionEstablishment = false
        http.connectionPool.idleTimeout = .seconds(20)
        http.timeout.connect = .seconds(5)
        if !arePrivateAddressesAllowed {
            http.http1_1ConnectionDebugInitializer = { channel in
                if PublicAddress.contains(channel.remoteAddress) { return channel.eventLoop.makeSucceededVoidFuture() }
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(ProviderFailure.privateAddress)
            }
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: http)
    }

    deinit {
        client.shutdown { _ in }
    }

    struct Answer: Sendable {
        var status: Int
        /// Nil when it is no JSON.
        var json: JSONValue?
    }

    /// - Parameter token: as bearer token.
    /// - Throws: `ProviderFailure`, also for every status but 200; `HTTPProblem` when too many wait; `CancellationError`.
    func get(_ url: String, token: String? = nil) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url)
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        let answer = try await send(request)
        guard answer.status == 200 else { throw ProviderFailure.status(answer.status) }
        guard let json = answer.json else { throw ProviderFailure.notUnderstood }
        return json
    }

    /// - Parameter basic: user and password (RFC 6749 §2.3.1).
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
        // GitHub refuses those who do not say who they are.
        request.headers.add(name: "user-agent", value: "Martlet")
        let complete = request
        return try await gate.withPlace {
            try await withThrowingTaskGroup(of: Answer.self) { group in
                group.addTask { try await self.execute(complete) }
                group.addTask {
                    try await Task.sleep(for: Self.timeout)
                    throw ProviderFailure.timeout
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() else { throw CancellationError() }
                return answer
            }
        }
    }

    private func execute(_ request: HTTPClientRequest) async throws -> Answer {
        try await check(request.url)
        do {
            let response = try await client.execute(request, timeout: .seconds(Self.timeout.components.seconds))
            let body = try await response.body.collect(upTo: Self.maximumAnswerSizeInBytes)
            return Answer(status: Int(response.status.code), json: try? JSONValue(parsing: body.readableBytesView))
        } catch let failure as ProviderFailure {
            throw failure
        } catch is NIOTooManyBytesError {
            throw ProviderFailure.answerTooLarge
        } catch {
            try Task.checkCancellation()
            throw ProviderFailure.unreachable("\(type(of: error)) \(error)")
        }
    }

    /// Whether the address could be asked.
    ///
    /// - Throws: `ProviderFailure.invalidURL`, `.privateAddress`. A name that is not known passes: it may become known.
    func check(_ url: String) async throws {
        let host = try host(of: url)
        guard !arePrivateAddressesAllowed else { return }
        let addresses = await NameLookup.addresses(of: host.trimmingCharacters(in: ["[", "]"]))
        try Task.checkCancellation()
        guard addresses.allSatisfy(PublicAddress.contains) else { throw ProviderFailure.privateAddress }
    }

    /// The host in an address of a form that may be asked, or shown to users.
    ///
    /// - Throws: `ProviderFailure.invalidURL`.
    @discardableResult
    func host(of url: String) throws -> String {
        guard url.utf8.count <= Self.maximumURLLength, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let parts = URLComponents(string: url),
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true,
            parts.scheme == "https" || (parts.scheme == "http" && arePrivateAddressesAllowed && Loopback.contains(host))
        else { throw ProviderFailure.invalidURL }
        return host
    }
}

/// Names of this machine.
enum Loopback {
    static func contains(_ host: String) -> Bool { ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host) }
}

/// Why a provider gave no answer that could be used.
enum ProviderFailure: Error, Sendable, Equatable {
    case timeout
    case unreachable(String)
    case privateAddress
    case invalidURL
    case answerTooLarge
    case status(Int)
    case notUnderstood
    /// What it is set up for does not go that far, such as a code flow without an address for it.
    case missing(String)
    /// It said no, with this code (RFC 6749 §5.2).
    case refused(String)

    /// For the log, and for whoever may manage providers.
    var sentence: String {
        switch self {
        case .timeout: "It did not answer in time."
        case .unreachable(let cause): "It could not be reached: \(cause)"
        case .privateAddress: "Its address is not one of the public internet."
        case .invalidURL: "It is not an https address without user and fragment, of at most \(ProviderClient.maximumURLLength) characters."
        case .answerTooLarge: "Its answer is too large."
        case .status(let status): "It answered with the status \(status)."
        case .notUnderstood: "Its answer is not what such a provider answers."
        case .missing(let what): "Its \(what) is not known."
        case .refused(let code): "It refused: \(code)."
        }
    }
}

/// `application/x-www-form-urlencoded` (WHATWG URL §5).
enum FormBody {
    static func encode(_ fields: [(String, String)]) -> String { FormFields.encode(fields.map { (name: $0.0, value: $0.1) }) }

    static func encode(_ text: String) -> String { FormFields.encode(text) }

    /// Of a name that comes twice, the first counts. Nil: not in this form.
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
    /// The member's text, where it is a string.
    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    /// The elements of a member that is a list; none where it is not.
    func list(_ name: String) -> [JSONValue] {
        if case .array(let elements) = self[name] { elements } else { [] }
    }
}
