import AsyncHTTPClient
import Foundation
import Logging
import MartletAPI
import MartletCore

/// Reports the number of requests to `analytics`, minute by minute. Failed reports are retried; the last 60 are kept.
actor RequestReport {
    private static let maximumWaiting = 60

    private let gateway = UUID()
    private let targets: [UpstreamTarget]
    private let client: HTTPClient
    private let signer: PrincipalSigner
    private let logger: Logger
    private let now: @Sendable () -> Date
    private var waiting: [RequestCounts] = []
    private var failures = 0

    init(
        targets: [UpstreamTarget], client: HTTPClient, signer: PrincipalSigner, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.targets = targets
        self.client = client
        self.signer = signer
        self.logger = logger
        self.now = now
    }

    /// Reports at the end of every minute of the wall clock, until cancelled.
    ///
    /// - Parameter take: Returns the counts since the last call.
    func follow(_ take: @Sendable () async -> [RequestCounts.Count]) async {
        var minute = Self.minute(of: now())
        while (try? await Task.sleep(for: .seconds(minute.addingTimeInterval(60).timeIntervalSince(now())))) != nil {
            await report(await take(), of: minute)
            minute = Self.minute(of: now())
        }
    }

    /// Sends the counts of a minute, after earlier ones that could not be sent. At shutdown, call it for the current
    /// minute.
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
            logger.notice(
                "Could not report the number of requests; keeping it for the next report.",
                metadata: ["error": "\(error)", "minutes": "\(waiting.count)"])
        }
    }

    static func minute(of time: Date) -> Date {
        Date(timeIntervalSince1970: (time.timeIntervalSince1970 / 60).rounded(.down) * 60)
    }

    private func send(_ counts: RequestCounts) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let analytics = InternalClient(
            baseURL: try await targets.address(failures), client: client, signer: signer, now: now)
        try await analytics.post("/internal/requests", try encoder.encode(counts))
    }
}
