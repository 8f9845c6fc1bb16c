import CoreMetrics
import Foundation
import HTTPTypes
import Logging
import MartletAPI
import MartletCompression
import MartletCore
import MartletSentry
import NIOCore

/// Accepts envelopes: validates them, drops unsupported and over-quota items, and returns once the rest is on disk.
struct CrashIntake: Sendable {
    /// The same limits as in Sentry's Relay.
    enum Limits {
        static let body = 20 << 20
        static let envelope = 100 << 20
        static let event = 1 << 20
        static let sessions = 1 << 20
        static let clientReport = 64 << 10
        static let attachments = 100 << 20
        /// Envelopes that are larger when decompressed wait for a permit.
        static let withoutPermit = 2 << 20
    }

    /// Item type that reports to the digest what was dropped before the spool.
    static let dropReport = "martlet_dropped"
    private static let kept: Set<String> = [
        "event", "session", "sessions", "attachment", "user_report", "feedback", "client_report",
    ]

    private let spool: SpoolWriter
    private let quota: CrashQuota
    private let logger: Logger
    private let now: @Sendable () -> Date
    /// Limits the memory that large envelopes take at the same time.
    private let large = AsyncSemaphore(
        limit: 2, maximumWaiting: 20, refusal: EnvelopeRefusal.busy("too_many_large_envelopes"))
    private let drops = DropCounts()
    private let accepted = Counter(
        label: "martlet_analytics_crash_envelopes_total", dimensions: [("outcome", "accepted")])
    private let limited = Counter(
        label: "martlet_analytics_crash_envelopes_total", dimensions: [("outcome", "limited")])
    private let refused = Counter(
        label: "martlet_analytics_crash_envelopes_total", dimensions: [("outcome", "refused")])

    init(spool: SpoolWriter, quota: CrashQuota, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.spool = spool
        self.quota = quota
        self.logger = logger
        self.now = now
    }

    /// Stores an envelope as received. When this returns, the kept items survive a power loss.
    ///
    /// - Throws: `EnvelopeRefusal`.
    func take(_ body: ByteBuffer, _ coding: ContentCoding?, of principal: Principal) async throws -> (
        id: UUID?, rateLimits: [RateLimit]
    ) {
        try await counted {
            guard let coding else { return try await takeUnpacked(body, body, nil, principal) }
            do {
                return try await takeUnpacked(
                    Inflate.decode(body, coding, upTo: Limits.withoutPermit), body, coding, principal)
            } catch InflateError.tooLarge {
                return try await large.withPermit {
                    try await takeUnpacked(Inflate.decode(body, coding, upTo: Limits.envelope), body, coding, principal)
                }
            }
        }
    }

    /// Stores an envelope that the service itself built.
    func take(_ envelope: Envelope, of principal: Principal) async throws -> (id: UUID?, rateLimits: [RateLimit]) {
        try await counted { try await store(envelope, nil, nil, principal) }
    }

    /// Stores several envelopes, all or none.
    func take(_ envelopes: [Envelope], of principal: Principal) async throws {
        _ = try await counted {
            let records = try envelopes.map { envelope in
                let filtered = try filtered(envelope, nil, nil, principal)
                if !filtered.rateLimits.isEmpty { throw EnvelopeRefusal.limited(filtered.rateLimits) }
                return filtered.record
            }
            try await spool.append(records.compactMap { $0?.record })
            return (nil, [])
        }
    }

    private func counted(_ body: () async throws -> (id: UUID?, rateLimits: [RateLimit])) async throws -> (
        id: UUID?, rateLimits: [RateLimit]
    ) {
        do {
            let result = try await body()
            accepted.increment()
            return result
        } catch let refusal as EnvelopeRefusal {
            (refusal.status == .tooManyRequests ? limited : refused).increment()
            throw refusal
        } catch let error as EnvelopeError {
            refused.increment()
            throw EnvelopeRefusal.invalid("\(error)")
        } catch InflateError.damaged {
            refused.increment()
            throw EnvelopeRefusal.invalid("the body does not match its Content-Encoding")
        } catch InflateError.tooLarge(let limit) {
            refused.increment()
            throw EnvelopeRefusal.tooLarge("more than \(limit) bytes when decompressed")
        } catch SpoolError.tooLarge {
            refused.increment()
            throw EnvelopeRefusal.tooLarge("more than \(SpoolRecord.maximumLength) bytes when decompressed")
        } catch SpoolError.full, SpoolError.overloaded {
            limited.increment()
            throw EnvelopeRefusal.busy("spool_full")
        } catch {
            limited.increment()
            logger.error(
                "Could not store a crash envelope; refusing it as busy.", metadata: ["error.cause": "\(error)"])
            throw EnvelopeRefusal.busy("spool_unavailable")
        }
    }

    private func takeUnpacked(
        _ bytes: ByteBuffer, _ body: ByteBuffer, _ coding: ContentCoding?, _ principal: Principal
    ) async throws -> (id: UUID?, rateLimits: [RateLimit]) {
        try await store(Envelope(parsing: Array(buffer: bytes)), body, coding, principal)
    }

    private func store(
        _ envelope: Envelope, _ body: ByteBuffer?, _ coding: ContentCoding?, _ principal: Principal
    ) async throws -> (id: UUID?, rateLimits: [RateLimit]) {
        let filtered = try filtered(envelope, body, coding, principal)
        if let record = filtered.record {
            try await spool.append(record.record)
        } else {
            drops.add(filtered.dropped, DropCounts.Owner(appID: principal.appID, environment: principal.environment))
        }
        if filtered.isAllLimited { throw EnvelopeRefusal.limited(filtered.rateLimits) }
        return (filtered.id, filtered.rateLimits)
    }

    /// Writes the drop counts of fully dropped envelopes to the spool. The counts are collected first, so that
    /// envelopes over quota or of unsupported kinds, such as transactions, do not each cost a write.
    ///
    /// - Throws: `SpoolError`; the counts are then kept.
    func reportDropped() async throws {
        let counts = drops.take()
        guard !counts.isEmpty else { return }
        let records = counts.map { owner, dropped in
            ReceivedEnvelope(
                appID: owner.appID, environment: owner.environment, received: now(), eventID: nil, coding: nil,
                body: Envelope(header: .object([]), items: Self.report(dropped)).bytes
            ).record
        }
        do {
            try await spool.append(records)
        } catch {
            for (owner, dropped) in counts { drops.add(dropped, owner) }
            throw error
        }
    }

    /// An envelope without the items that were dropped.
    private struct Filtered {
        /// Nil if nothing is kept.
        var record: ReceivedEnvelope?
        var dropped: [DropCounts.Drop: Int]
        var id: UUID?
        var rateLimits: [RateLimit]
        var isAllLimited: Bool
    }

    private func filtered(_ envelope: Envelope, _ body: ByteBuffer?, _ coding: ContentCoding?, _ principal: Principal)
        throws -> Filtered
    {
        try Self.check(envelope)
        let (items, dropped, rateLimits) = filtered(envelope.items, principal)
        let isAllLimited = items.isEmpty && !rateLimits.isEmpty && dropped.keys.allSatisfy { $0.reason == "rate_limit" }
        let id = eventID(envelope)
        let isWhole = items.count == envelope.items.count && body != nil
        let rest = isWhole ? envelope : Envelope(header: envelope.header, items: items + Self.report(dropped))
        let record = ReceivedEnvelope(
            appID: principal.appID, environment: principal.environment, received: now(), eventID: id,
            coding: isWhole ? coding : nil,
            body: isWhole ? Array(buffer: body ?? ByteBuffer()) : rest.bytes)
        return Filtered(
            record: items.isEmpty ? nil : record, dropped: dropped, id: id, rateLimits: rateLimits,
            isAllLimited: isAllLimited)
    }

    private static func check(_ envelope: Envelope) throws {
        var attachments = 0
        for item in envelope.items {
            let size = item.payload.count
            switch item.type {
            case "event", "feedback", "user_report":
                if size > Limits.event {
                    throw EnvelopeRefusal.tooLarge("an item of type '\(item.type)' has more than \(Limits.event) bytes")
                }
            case "session", "sessions":
                if size > Limits.sessions {
                    throw EnvelopeRefusal.tooLarge(
                        "an item of type '\(item.type)' has more than \(Limits.sessions) bytes")
                }
            case "client_report":
                if size > Limits.clientReport {
                    throw EnvelopeRefusal.tooLarge("a client report has more than \(Limits.clientReport) bytes")
                }
            case "attachment": attachments += size
            default: break
            }
        }
        if attachments > Limits.attachments {
            throw EnvelopeRefusal.tooLarge("attachments have more than \(Limits.attachments) bytes")
        }
        if envelope.items.filter({ $0.type == "event" }).count > 1 {
            throw EnvelopeRefusal.invalid("more than one event")
        }
    }

    private func filtered(_ items: [Envelope.Item], _ principal: Principal) -> (
        kept: [Envelope.Item], dropped: [DropCounts.Drop: Int], rateLimits: [RateLimit]
    ) {
        var (kept, dropped, rateLimits) = ([Envelope.Item](), [DropCounts.Drop: Int](), [RateLimit]())
        for item in items {
            let category = DataCategory(itemType: item.type)
            let count = max(1, min(10_000, item.header["item_count"]?.looseNumber.flatMap { Int(exactly: $0) } ?? 1))
            if !Self.kept.contains(item.type) {
                dropped[DropCounts.Drop(category: category ?? .default, reason: "unsupported"), default: 0] += count
            } else if let category, let limit = quota.take(category, principal.appID, principal.environment) {
                dropped[DropCounts.Drop(category: category, reason: "rate_limit"), default: 0] += 1
                if !rateLimits.contains(where: { $0.categories == limit.categories }) { rateLimits.append(limit) }
            } else {
                kept.append(item)
            }
        }
        // Attachments of a report that is not kept would be unreachable.
        if items.contains(where: Self.hasFiles), !kept.contains(where: Self.hasFiles) {
            let count = kept.count { $0.type == "attachment" }
            if count > 0 { dropped[DropCounts.Drop(category: .attachment, reason: "rate_limit"), default: 0] += count }
            kept.removeAll { $0.type == "attachment" }
        }
        return (kept, dropped, rateLimits)
    }

    private static func hasFiles(_ item: Envelope.Item) -> Bool { item.type == "event" || item.type == "feedback" }

    private static func report(_ dropped: [DropCounts.Drop: Int]) -> [Envelope.Item] {
        guard !dropped.isEmpty else { return [] }
        let counts = dropped.map { entry in
            JSONValue.object([
                .init("category", .string(entry.key.category.rawValue)), .init("reason", .string(entry.key.reason)),
                .init("quantity", .number("\(entry.value)")),
            ])
        }
        return [
            Envelope.Item(header: .object([]), type: dropReport, payload: Array(JSONValue.array(counts).text.utf8)[...])
        ]
    }

    /// The id of the envelope, or else of its event, or else a new one. Nil if the envelope contains no event.
    private func eventID(_ envelope: Envelope) -> UUID? {
        if let id = envelope.eventID { return id }
        guard let item = envelope.items.first(where: { $0.type == "event" || $0.type == "feedback" }) else {
            return nil
        }
        return (try? LooseJSON.value(item.payload))?["event_id"]?.looseText.flatMap(UUID.init(eventID:)) ?? UUID()
    }
}
