public import AsyncHTTPClient
import Foundation
import Glibc
import MartletCore
public import NIOCore
public import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends requests to the internet and to other processes of the server.
///
/// Follows no redirects, keeps no cookies, uses no proxy, and limits the size and time of answers. For addresses chosen
/// by others, use `Reach.publicAddresses`. It checks the addresses of the name in advance, and the address of each
/// connection before anything is sent on it, so that changing the name's addresses in between achieves nothing.
public final class OutgoingClient: Sendable {
    public static let maximumURLLength = 2_048

    /// The destinations that requests may have.
    public enum Reach: Sendable {
        /// Any destination, as configured by the operator. Addresses are not checked.
        case anywhere
        /// Public internet addresses only.
        ///
        /// - Parameter lookUp: Resolves a name to addresses, as bytes.
        case publicAddresses(lookUp: @Sendable (String) async -> [[UInt8]] = { await NameLookup.addresses(of: $0) })
    }

    /// The HTTP versions to use.
    public enum Version: Sendable {
        case http1
        /// HTTP/2 if the server offers it, so that many requests share a connection.
        case upToHTTP2
    }

    public struct Answer: Sendable {
        public var status: Int
        public var headers: HTTPHeaders
        public var body: ByteBuffer
    }

    private let client: HTTPClient
    private let reach: Reach

    /// - Parameter connectionsPerHost: Maximum number of open HTTP/1.1 connections; further requests wait.
    public init(_ reach: Reach, connectionsPerHost: Int = 8, version: Version = .http1) {
        self.reach = reach
        var http = HTTPClient.Configuration()
        http.redirectConfiguration = .disallow
        http.httpVersion = version == .http1 ? .http1Only : .automatic
        http.connectionPool.retryConnectionEstablishment = false
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
        http.connectionPool.idleTimeout = .seconds(20)
        http.timeout.connect = .seconds(5)
        if case .publicAddresses = reach {
            http.http1_1ConnectionDebugInitializer = Self.checkAddress
            http.http2ConnectionDebugInitializer = Self.checkAddress
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: http)
    }

    deinit {
        client.shutdown { _ in }
    }

    /// Sends a request and reads the complete answer within `timeout`.
    ///
    /// - Parameter limitInBytes: Maximum size of the answer's body.
    /// - Throws: `OutgoingFailure`; `CancellationError`.
    public func send(_ request: HTTPClientRequest, within timeout: Duration, upTo limitInBytes: Int) async throws
        -> Answer
    {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            group.addTask {
                try await self.checkAddresses(of: request.url, allowingUnknown: false)
                return try await self.execute(request, within: timeout, upTo: limitInBytes)
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw OutgoingFailure.timeout
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw CancellationError() }
            return answer
        }
    }

    private func execute(_ request: HTTPClientRequest, within timeout: Duration, upTo limitInBytes: Int) async throws
        -> Answer
    {
        do {
            let response = try await client.execute(request, timeout: TimeAmount(timeout))
            return Answer(
                status: Int(response.status.code), headers: response.headers,
                body: try await response.body.collect(upTo: limitInBytes))
        } catch let failure as OutgoingFailure {
            throw failure
        } catch is NIOTooManyBytesError {
            throw OutgoingFailure.answerTooLarge
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw OutgoingFailure.timeout
        } catch {
            try Task.checkCancellation()
            let cause = "\(type(of: error)) \(error)"
            throw Self.isBeforeRequest(error)
                ? OutgoingFailure.unreachable(cause) : OutgoingFailure.connectionLost(cause)
        }
    }

    /// Whether the error occurred while connecting, before anything was sent.
    private static func isBeforeRequest(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError, NIOSSLError.handshakeFailed, ChannelError.connectTimeout: true
        // For IP address literals.
        case let error as IOError: error.errnoCode == ECONNREFUSED
        case let error as HTTPClientError:
            [.connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .alreadyShutdown].contains(error)
        default: false
        }
    }

    // MARK: Addresses

    private static func checkAddress(of channel: any Channel) -> EventLoopFuture<Void> {
        if PublicAddress.contains(channel.remoteAddress) { return channel.eventLoop.makeSucceededVoidFuture() }
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(OutgoingFailure.privateAddress)
    }

    /// Checks that requests may be sent to the URL. A name that cannot be resolved passes, because it may exist later.
    ///
    /// - Parameter isPlainHTTPAllowed: Whether `http` is allowed for a host.
    /// - Throws: `OutgoingFailure.invalidURL`, `.privateAddress`; `CancellationError`.
    public func check(_ url: String, isPlainHTTPAllowed: (String) -> Bool) async throws {
        _ = try Self.host(of: url, isPlainHTTPAllowed: isPlainHTTPAllowed)
        try await checkAddresses(of: url, allowingUnknown: true)
    }

    /// The host of a URL in an accepted form: https, no user, no fragment.
    ///
    /// - Throws: `OutgoingFailure.invalidURL`.
    public static func host(of url: String, isPlainHTTPAllowed: (String) -> Bool) throws -> String {
        guard url.utf8.count <= maximumURLLength, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let parts = URLComponents(string: url),
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true,
            parts.scheme == "https" || (parts.scheme == "http" && isPlainHTTPAllowed(host))
        else { throw OutgoingFailure.invalidURL }
        return host
    }

    private func checkAddresses(of url: String, allowingUnknown: Bool) async throws {
        guard case .publicAddresses(let lookUp) = reach else { return }
        guard let host = URLComponents(string: url)?.host else { throw OutgoingFailure.invalidURL }
        let addresses = await lookUp(host.trimmingCharacters(in: ["[", "]"]))
        try Task.checkCancellation()
        guard !addresses.isEmpty || allowingUnknown else {
            throw OutgoingFailure.unreachable("the name cannot be resolved")
        }
        guard addresses.allSatisfy(PublicAddress.contains) else { throw OutgoingFailure.privateAddress }
    }
}

/// The reason why an outgoing request has no answer.
public enum OutgoingFailure: Error, Sendable, Equatable {
    case timeout
    /// No connection could be made, so nothing was sent.
    ///
    /// - Parameter cause: For the log.
    case unreachable(String)
    /// The connection failed before a complete answer arrived. The request may have been processed.
    ///
    /// - Parameter cause: For the log.
    case connectionLost(String)
    case privateAddress
    case invalidURL
    case answerTooLarge

    /// A sentence for the user who chose the URL.
    public var sentence: String {
        switch self {
        case .timeout: "The server did not answer in time."
        case .unreachable: "The server could not be reached."
        case .connectionLost: "The connection failed before the server answered."
        case .privateAddress: "The server's address is not on the public internet."
        case .invalidURL:
            "Expected an https URL without user and fragment, of at most \(OutgoingClient.maximumURLLength) characters."
        case .answerTooLarge: "The server's answer is too large."
        }
    }

    /// A description for the log.
    public var cause: String {
        switch self {
        case .unreachable(let cause): "unreachable: \(cause)"
        case .connectionLost(let cause): "connection lost: \(cause)"
        default: sentence
        }
    }
}
