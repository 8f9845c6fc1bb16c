import AsyncHTTPClient
import Foundation
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1

/// The access token of a service account. Concurrent callers share one request, and the token is renewed before it
/// expires.
actor FCMAccessToken {
    /// The remaining lifetime at which the token is renewed.
    static let margin: TimeInterval = 300
    /// How long to wait after a failure before the next request.
    static let failureDelay: TimeInterval = 5
    private static let timeout: Duration = .seconds(30)
    private static let maximumAnswerSizeInBytes = 64 << 10

    private struct Token {
        var text: String
        var expires: Date
    }

    private let account: FCMServiceAccount
    private let client: OutgoingClient
    private let now: @Sendable () -> Date
    private var token: Token?
    private var fetching: Task<Token, any Error>?
    private var failure: (error: PushFailure, until: Date)?

    init(_ account: FCMServiceAccount, _ client: OutgoingClient, now: @escaping @Sendable () -> Date) {
        self.account = account
        self.client = client
        self.now = now
    }

    /// - Throws: `PushFailure`; no message was sent.
    func text() async throws -> String {
        let time = now()
        if let token, token.expires.timeIntervalSince(time) > Self.margin { return token.text }
        if let failure, failure.until > time { throw failure.error }
        return try await fetch().text
    }

    /// Discards a token that FCM refused, unless it has already been replaced.
    func forget(_ text: String) {
        if token?.text == text { token = nil }
    }

    /// Shared by all callers: the request continues even if the first caller is cancelled.
    private func fetch() async throws -> Token {
        if let fetching { return try await fetching.value }
        let task = Task { try await request() }
        fetching = task
        defer { fetching = nil }
        do {
            let fetched = try await task.value
            token = fetched
            failure = nil
            return fetched
        } catch {
            let known = error as? PushFailure ?? PushFailure(.notSent, reason: "no-access-token")
            failure = (known, now().addingTimeInterval(Self.failureDelay))
            throw known
        }
    }

    private func request() async throws -> Token {
        guard let assertion = try? account.assertion(at: now()) else {
            throw PushFailure(.credentialBroken, reason: "signing-failed")
        }
        var request = HTTPClientRequest(url: account.tokenURL)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(
            ByteBuffer(
                string: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion))
        let answer: OutgoingClient.Answer
        do {
            answer = try await client.send(request, within: Self.timeout, upTo: Self.maximumAnswerSizeInBytes)
        } catch {
            throw PushFailure(.notSent, reason: "no-access-token")
        }
        let json = try? JSONValue(parsing: answer.body.readableBytesView)
        guard answer.status == 200, let text = json?.string("access_token"), !text.isEmpty,
            text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            case .number(let literal)? = json?["expires_in"], let seconds = Double(literal), seconds.isFinite
        else { throw Self.failure(answer, json, now()) }
        return Token(text: text, expires: now().addingTimeInterval(min(seconds, 86_400)))
    }

    /// Treats 400, 401 and 403 as permanent: the assertion was refused (RFC 6749 §5.2), so a retry would not help.
    private static func failure(_ answer: OutgoingClient.Answer, _ json: JSONValue?, _ now: Date) -> PushFailure {
        let reason = json?.string("error").map { String($0.prefix(64)) } ?? "no-access-token"
        switch answer.status {
        case 400, 401, 403: return PushFailure(.credentialBroken, reason: reason, status: answer.status)
        default:
            let delay = RetryAfter.duration(answer.headers.first(name: "retry-after"), at: now) ?? .seconds(60)
            return PushFailure(.backOff(.credential, atLeast: delay), reason: reason, status: answer.status)
        }
    }
}
