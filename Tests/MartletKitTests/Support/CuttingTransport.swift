import Foundation

@testable import MartletKit

/// A network whose failures a test decides.
final class CuttingTransport: HTTPTransport {
    enum Fate { case arrives, neverLeaves, answerIsLost }

    private let transport = URLSessionTransport()
    private let fate: Locked<@Sendable (HTTPRequest) async -> Fate>
    private let requests = Locked<[HTTPRequest]>([])

    init(_ fate: @escaping @Sendable (HTTPRequest) async -> Fate = { _ in .arrives }) { self.fate = Locked(fate) }

    /// The requests that reached the server.
    var sent: [HTTPRequest] { requests.withLock { $0 } }

    func decide(_ new: @escaping @Sendable (HTTPRequest) async -> Fate) { fate.withLock { $0 = new } }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let decide = fate.withLock { $0 }
        let fate = await decide(request)
        if fate == .neverLeaves { throw MartletError(.notConnected, "Cut before the server.") }
        requests.withLock { $0.append(request) }
        let response = try await transport.send(request, progress: progress)
        if fate == .answerIsLost { throw MartletError(.connectionLost, "Cut after the server.") }
        return response
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await transport.stream(request) }
}

extension TestServer {
    /// A device of a test about working offline: it sends each call once.
    static func offlineDevice(
        folder: URL = Scratch.folder(), _ network: CuttingTransport = CuttingTransport(),
        _ change: (inout Martlet.Configuration) -> Void = { _ in }
    ) async throws -> Martlet {
        try await device {
            $0.transport = network
            $0.folder = folder
            $0.retries = .never
            change(&$0)
        }
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
