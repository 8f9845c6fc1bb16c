import Crypto
public import Foundation
import MartletCore
import Synchronization

/// A push service for browsers, with browsers that decrypt their messages.
public final class WebPushSimulator: Sendable {
    /// A browser's subscription: what its page sends to the server, and what it keeps secret.
    public struct Browser: Sendable {
        public let endpoint: String
        public let publicKey: String
        public let authenticationSecret: String
        let path: String
        let receiver: WebPushReceiver
    }

    public struct Message: Sendable {
        public var headers: [String: String]
        /// The decrypted message; nil if the browser could not decrypt it.
        public var text: String?
    }

    private struct State {
        var browsers: [String: Browser] = [:]
        var answers: [String: (status: Int, retryAfter: String?)] = [:]
        var messages: [String: [Message]] = [:]
    }

    private let state = Mutex(State())
    private let server = Mutex<SimulatorServer?>(nil)
    private let clock: @Sendable () -> Date

    /// Listens on a free port of this machine.
    public static func start(
        clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws -> WebPushSimulator {
        let simulator = WebPushSimulator(clock)
        let server = try await SimulatorServer.start { simulator.receive($0) }
        simulator.server.withLock { $0 = server }
        return simulator
    }

    private init(_ clock: @escaping @Sendable () -> Date) {
        self.clock = clock
    }

    public func stop() { server.withLock { $0 }?.stop() }

    /// The origin that VAPID tokens must name.
    public var origin: String { "http://127.0.0.1:\(server.withLock { $0?.port ?? 0 })" }

    public func subscribe() -> Browser {
        let receiver = WebPushReceiver()
        let path = "/send/" + UUID().uuidString
        let browser = Browser(
            endpoint: origin + path, publicKey: receiver.publicKey,
            authenticationSecret: Base64URL.encode(receiver.authenticationSecret), path: path,
            receiver: receiver)
        state.withLock { $0.browsers[path] = browser }
        return browser
    }

    /// Sets the answer to later messages for the browser.
    public func answer(_ browser: Browser, status: Int, retryAfter: String? = nil) {
        state.withLock { $0.answers[browser.path] = (status, retryAfter) }
    }

    public func messages(of browser: Browser) -> [Message] { state.withLock { $0.messages[browser.path] ?? [] } }

    private func receive(_ request: SimulatorServer.Request) -> SimulatorServer.Answer {
        state.withLock { state in
            guard let browser = state.browsers[request.path] else { return .init(status: 404) }
            guard request.headers["ttl"].flatMap({ Int($0) }) != nil else { return .init(status: 400) }
            guard isAuthorized(request.headers["authorization"] ?? "") else { return .init(status: 403) }
            guard request.body.count <= 4_096 else { return .init(status: 413) }
            if let answer = state.answers[request.path] {
                return .init(status: answer.status, headers: answer.retryAfter.map { [("retry-after", $0)] } ?? [])
            }
            let text =
                request.body.isEmpty
                ? "" : (try? browser.receiver.open(Data(request.body))).map { String(decoding: $0, as: UTF8.self) }
            state.messages[request.path, default: []].append(Message(headers: request.headers, text: text))
            return .init(status: 201, headers: [("location", origin + "/message/" + UUID().uuidString)])
        }
    }

    /// Checks the VAPID token (RFC 8292 §2, §3).
    private func isAuthorized(_ authorization: String) -> Bool {
        guard authorization.hasPrefix("vapid t=") else { return false }
        let fields = authorization.dropFirst(8).components(separatedBy: ", k=")
        guard fields.count == 2, let point = Base64URL.decode(fields[1]),
            let key = try? P256.Signing.PublicKey(x963Representation: point)
        else { return false }
        let parts = fields[0].parts(between: ".")
        guard parts.count == 3,
            let signature = Base64URL.decode(parts[2]).flatMap({
                try? P256.Signing.ECDSASignature(rawRepresentation: $0)
            }),
            key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)),
            let claims = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }),
            claims["aud"] == .string(origin),
            case .number(let literal)? = claims["exp"], let expires = Double(literal), case .string? = claims["sub"]
        else { return false }
        let rest = expires - clock().timeIntervalSince1970
        return rest > 0 && rest <= 86_400
    }
}
