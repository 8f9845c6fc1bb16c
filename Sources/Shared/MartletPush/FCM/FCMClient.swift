import AsyncHTTPClient
public import Foundation
import MartletCore
public import MartletHTTP
import NIOCore
import NIOHTTP1

/// Sends messages through Firebase Cloud Messaging with one service account.
public final class FCMClient: Sendable {
    public static let address = "https://fcm.googleapis.com"
    private static let timeout: Duration = .seconds(30)
    private static let maximumAnswerSizeInBytes = 64 << 10

    private let account: FCMServiceAccount
    private let client: OutgoingClient
    private let url: String
    private let token: FCMAccessToken
    private let semaphore: AsyncSemaphore
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - client: Supports HTTP/2, so that many messages share a connection. It must only reach public addresses,
    ///     because the account's file determines where access tokens are requested.
    ///   - address: Replaces Google's address in tests.
    ///   - concurrency: The maximum number of messages sent at the same time.
    ///   - maximumWaiting: Further messages fail as `notSent`.
    public init(
        _ account: FCMServiceAccount, client: OutgoingClient = OutgoingClient(.publicAddresses(), version: .upToHTTP2),
        address: String = FCMClient.address,
        concurrency: Int = 100, maximumWaiting: Int = 10_000, now: @escaping @Sendable () -> Date
    ) {
        self.account = account
        self.client = client
        self.now = now
        url = address + "/v1/projects/\(account.projectID)/messages:send"
        token = FCMAccessToken(account, client, now: now)
        semaphore = AsyncSemaphore(
            limit: concurrency, maximumWaiting: maximumWaiting, refusal: PushFailure(.notSent, reason: "queue-full"))
    }

    /// - Parameter isTest: If true, FCM checks message, token and credential but sends nothing.
    public func send(_ message: FCMMessage, isTest: Bool = false) async -> PushOutcome {
        if let fault = message.fault { return .failed(.messageRejected, reason: fault.reason) }
        do {
            return try await semaphore.withPermit { try await attempt(message.json(isTest: isTest)) }
        } catch let failure as PushFailure {
            return .failed(failure)
        } catch {
            // Cancelled while it waited for its turn or for the access token.
            return .failed(.notSent, reason: "cancelled")
        }
    }

    /// Tries again if the access token was refused, because it may have been revoked early.
    private func attempt(_ json: JSONValue) async throws -> PushOutcome {
        let first = try await token.text()
        let outcome = await post(json, token: first)
        guard case .failed(let failure) = outcome, failure.status == 401,
            failure.reason != FCMErrorCode.thirdPartyAuthentication.rawValue
        else {
            return outcome
        }
        await token.forget(first)
        return await post(json, token: try await token.text())
    }

    private func post(_ json: JSONValue, token: String) async -> PushOutcome {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer " + token)
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: json.text))
        let sent = now()
        do {
            let answer = try await client.send(request, within: Self.timeout, upTo: Self.maximumAnswerSizeInBytes)
            let parsed = try? JSONValue(parsing: answer.body.readableBytesView)
            return FCMAnswer(status: answer.status, retryAfter: answer.headers.first(name: "retry-after"), json: parsed)
                .outcome(sent: sent, now: now())
        } catch {
            return .failed(PushFailure(outgoing: error))
        }
    }
}

extension FCMMessageFault {
    /// The reason that FCM would answer with.
    public var reason: String { FCMErrorCode.invalidArgument.rawValue }
}

extension PushFailure {
    /// The failure of a request that received no answer.
    init(outgoing error: any Error) {
        switch error as? OutgoingFailure {
        case .unreachable: self.init(.notSent, reason: "unreachable")
        case .privateAddress, .invalidURL: self.init(.messageRejected, reason: "address-not-allowed")
        case .timeout: self.init(.unknown, reason: "answer-timeout")
        case .connectionLost, .answerTooLarge: self.init(.unknown, reason: "connection-lost")
        case nil: self.init(.unknown, reason: "cancelled")
        }
    }
}
