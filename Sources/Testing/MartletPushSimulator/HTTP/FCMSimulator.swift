import CryptoExtras
public import Foundation
public import MartletCore
import Synchronization

/// A server that behaves like Google's for FCM: it issues access tokens for signed assertions and accepts messages by
/// the HTTP v1 API.
public final class FCMSimulator: Sendable {
    private struct State {
        var issued: [String: Date] = [:]
        var tokenRequests = 0
        var tokenFailure: (status: Int, error: String)?
        var answers: [String: [(status: Int, code: String, retryAfter: String?)]] = [:]
        var counts: [String: Int] = [:]
        var messages: [JSONValue] = []
    }

    /// The number of messages kept in `messages`. Later ones are only counted.
    private static let maximumMessagesKept = 10_000
    private static let project = "martlet-test"
    private static let email = "push@martlet-test.iam.gserviceaccount.com"
    /// Shared, because generating an RSA key is slow.
    private static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private let state = Mutex(State())
    private let server = Mutex<SimulatorServer?>(nil)
    private let answerDelay: Duration
    private let clock: @Sendable () -> Date

    /// Listens on a free port of this machine.
    public static func start(
        answerDelay: Duration = .zero, clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws -> FCMSimulator {
        let simulator = FCMSimulator(answerDelay, clock)
        let server = try await SimulatorServer.start { request in
            try await Task.sleep(for: simulator.answerDelay)
            return request.path == "/token" ? simulator.issue(request) : simulator.send(request)
        }
        simulator.server.withLock { $0 = server }
        return simulator
    }

    private init(_ answerDelay: Duration, _ clock: @escaping @Sendable () -> Date) {
        self.answerDelay = answerDelay
        self.clock = clock
    }

    public func stop() { server.withLock { $0 }?.stop() }

    /// The URL that replaces `https://fcm.googleapis.com`.
    public var address: String { "http://127.0.0.1:\(server.withLock { $0?.port ?? 0 })" }

    /// The text of the service account's file.
    public func serviceAccount() throws -> Secret {
        let pem = try Self.key.get().pkcs8PEMRepresentation
        return Secret(
            JSONValue.object([
                .init("type", .string("service_account")), .init("project_id", .string(Self.project)),
                .init("private_key_id", .string("k1")),
                .init("private_key", .string(pem)), .init("client_email", .string(Self.email)),
                .init("token_uri", .string(address + "/token")),
            ]).text)
    }

    // MARK: Configuration

    /// Queues an answer to one message for a registration token. Without a queued answer, messages are accepted.
    public func answer(_ token: String, status: Int, code: String, retryAfter: String? = nil) {
        state.withLock { $0.answers[token, default: []].append((status, code, retryAfter)) }
    }

    /// Sets the answer to requests for access tokens; nil issues tokens again.
    public func setTokenFailure(_ status: Int?, error: String = "invalid_grant") {
        state.withLock { $0.tokenFailure = status.map { ($0, error) } }
    }

    public func revokeTokens() { state.withLock { $0.issued = [:] } }

    // MARK: Observations

    /// The number of messages accepted for a registration token.
    public func deliveries(to token: String) -> Int { state.withLock { $0.counts[token] ?? 0 } }
    /// The first accepted messages.
    public var messages: [JSONValue] { state.withLock { $0.messages } }
    public var tokenRequests: Int { state.withLock { $0.tokenRequests } }

    // MARK: Answers

    private func issue(_ request: SimulatorServer.Request) -> SimulatorServer.Answer {
        let fields = String(decoding: request.body, as: UTF8.self).parts(between: "&")
        let assertion = fields.first { $0.hasPrefix("assertion=") }?.dropFirst(10) ?? ""
        let isGranted =
            fields.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
            && isSigned(String(assertion))
        return state.withLock { state in
            state.tokenRequests += 1
            if let failure = state.tokenFailure {
                return .init(status: failure.status, body: #"{"error":"\#(failure.error)"}"#)
            }
            guard isGranted else { return .init(status: 400, body: #"{"error":"invalid_grant"}"#) }
            let token = "ya29.\(state.tokenRequests)"
            state.issued[token] = clock().addingTimeInterval(3_599)
            return .init(status: 200, body: #"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#)
        }
    }

    private func isSigned(_ assertion: String) -> Bool {
        let parts = assertion.parts(between: ".")
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), let key = try? Self.key.get(),
            key.publicKey.isValidSignature(
                .init(rawRepresentation: signature), for: Data("\(parts[0]).\(parts[1])".utf8),
                padding: .insecurePKCS1v1_5),
            let claims = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }),
            claims["iss"] == .string(Self.email), claims["aud"] == .string(address + "/token"),
            claims["scope"] == .string("https://www.googleapis.com/auth/firebase.messaging"),
            case .number(let issued)? = claims["iat"], case .number(let expires)? = claims["exp"],
            let from = Double(issued), let to = Double(expires), to - from <= 3_600
        else { return false }
        let now = clock().timeIntervalSince1970
        return from <= now + 60 && now < to
    }

    private func send(_ request: SimulatorServer.Request) -> SimulatorServer.Answer {
        guard request.method == "POST", request.path == "/v1/projects/\(Self.project)/messages:send" else {
            return Self.refusal(404, "NOT_FOUND")
        }
        let bearer = (request.headers["authorization"] ?? "").dropFirst(7)
        guard let json = try? JSONValue(parsing: request.body), let message = json["message"] else {
            return Self.refusal(400, "INVALID_ARGUMENT")
        }
        let target = ["token", "topic", "condition"].compactMap { name -> String? in
            if case .string(let text)? = message[name] { text } else { nil }
        }
        guard target.count == 1, let token = target.first else { return Self.refusal(400, "INVALID_ARGUMENT") }
        return state.withLock { state in
            guard let expires = state.issued[String(bearer)], clock() < expires else {
                return Self.refusal(401, "UNAUTHENTICATED", isFCM: false)
            }
            if let answer = state.answers[token]?.first {
                state.answers[token]?.removeFirst()
                return Self.refusal(answer.status, answer.code, retryAfter: answer.retryAfter)
            }
            if json["validate_only"] != .bool(true) { state.counts[token, default: 0] += 1 }
            if state.messages.count < Self.maximumMessagesKept { state.messages.append(json) }
            return .init(status: 200, body: #"{"name":"projects/\#(Self.project)/messages/\#(UUID().uuidString)"}"#)
        }
    }

    /// - Parameter isFCM: Whether the answer comes from FCM or from Google's front end.
    private static func refusal(_ status: Int, _ code: String, retryAfter: String? = nil, isFCM: Bool = true)
        -> SimulatorServer.Answer
    {
        let isAboutToken = code == "INVALID_TOKEN"
        let word = isAboutToken ? "INVALID_ARGUMENT" : code
        var details =
            isFCM ? [#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(word)"}"#] : []
        if isAboutToken {
            details.append(
                #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token"}]}"#)
        }
        let body =
            #"{"error":{"code":\#(status),"message":"…","status":"\#(word)","details":[\#(details.joined(separator: ","))]}}"#
        return .init(status: status, headers: retryAfter.map { [("retry-after", $0)] } ?? [], body: body)
    }
}
