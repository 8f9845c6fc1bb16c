import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore

/// Tells `analytics` how many requests there were, minute by minute. What cannot be told waits, an hour at most.
actor RequestReport {
    private static let maximumWaiting = 60

    private let gateway = UUID()
    private let targets: [UpstreamTarget]
    private let client: HTTPClient
    private let signer: PrincipalSigner
    private let logger: Logger
    private var waiting: [RequestCounts] = []
    private var failures = 0

    init(targets: [UpstreamTarget], client: HTTPClient, signer: PrincipalSigner, logger: Logger) {
        self.targets = targets
        self.client = client
        self.signer = signer
        self.logger = logger
    }

    /// At the end of every minute of the wall clock, until cancelled.
    ///
    /// - Parameter take: what was counted since the last call.
    func follow(_ take: @Sendable () async -> [RequestCounts.Count]) async {
        var minute = Self.minute(of: Date())
        while (try? await Task.sleep(for: .seconds(minute.addingTimeInterval(60).timeIntervalSinceNow))) != nil {
            await report(await take(), of: minute)
            minute = Self.minute(of: Date())
        }
    }

    /// A gateway that ends reports the minute that it is in.
    func report(_ counts: [RequestCounts.Count], of minute: Date) async {
        if !counts.isEmpty { waiting.append(RequestCounts(gateway: gateway, minute: minute, counts: counts)) }
        waiting.removeFirst(max(0, waiting.count - Self.maximumWaiting))
        do {
            while let next = waiting.first {
                try await send(next)
                waiting.removeFirst()
            }
        } catch {
            failures += 1
            logger.notice("The number of requests could not be reported.", metadata: ["error": "\(error)", "minutes": "\(waiting.count)"])
        }
    }

    static func minute(of time: Date) -> Date { Date(timeIntervalSince1970: (time.timeIntervalSince1970 / 60).rounded(.down) * 60) }

    private func send(_ counts: RequestCounts) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let analytics = InternalClient(baseURL: try await targets.address(failures), client: client, signer: signer)
        try await analytics.post("/internal/requests", try encoder.encode(counts))
    }
}
