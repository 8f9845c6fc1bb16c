import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1
import Synchronization

/// Sends signed requests to hooks, by an `OutgoingClient`: unless the settings allow it, only to addresses of the public internet.
final class HookClient: Sendable {
    static let maximumAnswerSizeInBytes = 1 << 20

    private let settings: HookSettings
    private let client: OutgoingClient
    private let underWay = Mutex<[AppSpace?: Int]>([:])

    init(settings: HookSettings) {
        self.settings = settings
        client = OutgoingClient(
            settings.arePrivateAddressesAllowed ? .anywhere : .publicAddresses(lookUp: settings.lookUp), connectionsPerHost: 64)
    }

    struct Answer: Sendable {
        var status: Int
        var body: ByteBuffer
        /// What the hook asks for with 429 and 503 (RFC 9110 §10.2.3), in its form of seconds.
        var retryAfter: Duration?
    }

    /// Posts `body`, signed, within the hook's time.
    ///
    /// - Parameter id: the same for every attempt to tell the same thing, so that receivers can drop what they had already.
    /// - Throws: `HookFailure`; `CancellationError`.
    func send(_ body: ByteBuffer, id: String, to hook: Hook, in space: AppSpace, within limit: Duration? = nil) async throws -> Answer {
        let request = request(body, id: id, to: hook, in: space)
        do {
            // The settings may have been others when the hook was set.
            _ = try OutgoingClient.host(of: hook.url, isPlainHTTPAllowed: isPlainHTTPAllowed)
            let answer = try await client.send(request, within: min(hook.timeout, limit ?? hook.timeout), upTo: Self.maximumAnswerSizeInBytes)
            return Answer(status: answer.status, body: answer.body, retryAfter: answer.retryAfter)
        } catch let failure as OutgoingFailure {
            throw HookFailure.call(failure)
        }
    }

    /// The same for somebody who waits for the answer, of whom there is a limited number.
    func ask(_ body: ByteBuffer, _ hook: Hook, in space: AppSpace, within limit: Duration? = nil) async throws -> Answer {
        let isBusy = underWay.withLock { counts in
            let (all, own) = (counts[nil, default: 0], counts[space, default: 0])
            guard all < settings.maximumCalls, own < settings.maximumCallsPerSpace else { return true }
            counts[nil] = all + 1
            counts[space] = own + 1
            return false
        }
        guard !isBusy else { throw HTTPProblem(.unavailable, "Too many hooks are being waited for.") }
        defer {
            underWay.withLock { counts in
                for key in [nil, space] { counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
            }
        }
        return try await send(body, id: UUIDv7.make(), to: hook, in: space, within: limit)
    }

    private func request(_ body: ByteBuffer, id: String, to hook: Hook, in space: AppSpace) -> HTTPClientRequest {
        .webhook(hook.url, body, id: id, at: settings.now(), signedBy: settings.secrets.secrets(of: hook, in: space))
    }

    // MARK: Addresses

    /// - Throws: `invalid-body` naming the field: the address of a hook has to be one that could be spoken to. A name that is not known yet is.
    func check(_ url: String) async throws {
        do {
            try await client.check(url, isPlainHTTPAllowed: isPlainHTTPAllowed)
        } catch let failure as OutgoingFailure {
            throw HTTPProblem(.invalidBody, failure.sentence, field: "url")
        }
    }

    private func isPlainHTTPAllowed(_ host: String) -> Bool { settings.arePrivateAddressesAllowed || settings.isPlainHTTPAllowed }
}

/// Why a hook gave no answer.
enum HookFailure: Error, Sendable, Equatable {
    case call(OutgoingFailure)
    /// It answered with a status that means neither yes nor no.
    case status(Int)
    case notUnderstood

    /// For whoever may manage hooks.
    var sentence: String {
        switch self {
        case .call(let failure): failure.sentence
        case .status(let status): "It answered with the status \(status)."
        case .notUnderstood: "Its answer is not what a hook may answer."
        }
    }

    var cause: String {
        if case .call(let failure) = self { failure.cause } else { sentence }
    }
}
