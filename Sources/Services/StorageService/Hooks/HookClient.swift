import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1
import Synchronization

/// Sends signed requests to hooks.
///
/// No redirect is followed, no proxy used, no answer read beyond `maximumAnswerSizeInBytes`. Unless the settings allow it, only addresses of
/// the public internet are spoken to: the name is looked up before, and the address that a connection really has is looked at before
/// anything is sent on it, so that a name that changes its mind in between gains nothing.
final class HookClient: Sendable {
    static let maximumAnswerSizeInBytes = 1 << 20
    static let maximumURLLength = 2_048

    private let settings: HookSettings
    private let client: HTTPClient
    private let underWay = Mutex<[AppSpace?: Int]>([:])

    init(settings: HookSettings) {
        self.settings = settings
        var http = HTTPClient.Configuration()
        http.redirectConfiguration = .disallow
        http.httpVersion = .http1Only
        http.connectionPool.retryConnectionEstablishment = false
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        http.connectionPool.idleTimeout = .seconds(20)
        http.timeout.connect = .seconds(5)
        if !settings.arePrivateAddressesAllowed {
            http.http1_1ConnectionDebugInitializer = { channel in
                if PublicAddress.contains(channel.remoteAddress) { return channel.eventLoop.makeSucceededVoidFuture() }
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(HookFailure.privateAddress)
            }
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: http)
    }

    deinit {
        client.shutdown { _ in }
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
        let timeout = min(hook.timeout, limit ?? hook.timeout)
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            group.addTask {
                try await self.checkAddress(of: hook.url)
                do {
                    let response = try await self.client.execute(request, timeout: .nanoseconds(timeout.inNanoseconds))
                    let body = try await response.body.collect(upTo: Self.maximumAnswerSizeInBytes)
                    let seconds = response.headers.first(name: "retry-after").flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
                    return Answer(status: Int(response.status.code), body: body, retryAfter: seconds.map { .seconds(min($0, 86_400)) })
                } catch let failure as HookFailure {
                    throw failure
                } catch is NIOTooManyBytesError {
                    throw HookFailure.answerTooLarge
                } catch let error as HTTPClientError where error == .deadlineExceeded {
                    throw HookFailure.timeout
                } catch {
                    try Task.checkCancellation()
                    throw HookFailure.unreachable("\(type(of: error)) \(error)")
                }
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw HookFailure.timeout
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw CancellationError() }
            return answer
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
        let timestamp = Int64(settings.now().timeIntervalSince1970)
        let signatures = settings.secrets.secrets(of: hook, in: space).map {
            $0.signature(id: id, timestamp: timestamp, body: Data(body.readableBytesView))
        }
        var request = HTTPClientRequest(url: hook.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Martlet")
        request.headers.add(name: "webhook-id", value: id)
        request.headers.add(name: "webhook-timestamp", value: String(timestamp))
        request.headers.add(name: "webhook-signature", value: signatures.joined(separator: " "))
        request.body = .bytes(body)
        return request
    }

    // MARK: Addresses

    /// - Throws: `invalid-body` naming the field: the address of a hook has to be one that could be spoken to. A name that is not known yet is.
    func check(_ url: String) async throws {
        do {
            try await checkAddress(of: url, allowingUnknown: true)
        } catch let failure as HookFailure {
            throw HTTPProblem(.invalidBody, failure.sentence, field: "url")
        }
    }

    private func checkAddress(of url: String, allowingUnknown: Bool = false) async throws {
        guard url.utf8.count <= Self.maximumURLLength, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let parts = URLComponents(string: url),
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true,
            parts.scheme == "https" || (parts.scheme == "http" && (settings.arePrivateAddressesAllowed || settings.isPlainHTTPAllowed))
        else { throw HookFailure.invalidURL }
        guard !settings.arePrivateAddressesAllowed else { return }
        let addresses = await settings.lookUp(host.trimmingCharacters(in: ["[", "]"]))
        try Task.checkCancellation()
        guard !addresses.isEmpty || allowingUnknown else { throw HookFailure.unreachable("the name is not known") }
        guard addresses.allSatisfy(PublicAddress.contains) else { throw HookFailure.privateAddress }
    }
}

/// Why a hook gave no answer.
enum HookFailure: Error, Sendable, Equatable {
    case timeout
    case unreachable(String)
    case privateAddress
    case invalidURL
    case answerTooLarge
    /// It answered with a status that means neither yes nor no.
    case status(Int)
    case notUnderstood

    /// For whoever may manage hooks.
    var sentence: String {
        switch self {
        case .timeout: "It did not answer in time."
        case .unreachable: "It could not be reached."
        case .privateAddress: "Its address is not one of the public internet."
        case .invalidURL: "It is not an https address without user and fragment, of at most \(HookClient.maximumURLLength) characters."
        case .answerTooLarge: "Its answer is too large."
        case .status(let status): "It answered with the status \(status)."
        case .notUnderstood: "Its answer is not what a hook may answer."
        }
    }

    var cause: String {
        if case .unreachable(let cause) = self { "unreachable: \(cause)" } else { sentence }
    }
}

extension Duration {
    fileprivate var inNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
