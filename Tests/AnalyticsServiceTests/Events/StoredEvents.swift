import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsService

/// A row of `analytics.events` with its terms as texts.
struct StoredEvent: Equatable {
    var kind: Int
    var name: String?
    var person: Int64
    var at: Date
    var received: Date
    var release: String?
    var os: String?
    var device: String?
    var configuration: String?
    var variants: String?
    var country: String?
    var properties: String
}

extension AnalyticsApp {
    /// All events in the order in which they happened.
    func events() async throws -> [StoredEvent] {
        func term(_ column: StaticString) -> PostgresQuery {
            "(SELECT text FROM analytics.terms AS t WHERE t.id = \(unescaped: column))"
        }
        return try await postgres.query(
            """
            SELECT kind, \(term("e.name")), person, at, received, \(term("e.release")), \(term("e.os")), \(term("e.device")),
                \(term("e.configuration")), \(term("e.variants")), \(term("e.country")), properties::text
            FROM analytics.events AS e ORDER BY at, kind, 2
            """
        ).map { row in
            StoredEvent(
                kind: try row.decode(0), name: try row.decode(1), person: try row.decode(2), at: try row.decode(3),
                received: try row.decode(4),
                release: try row.decode(5), os: try row.decode(6), device: try row.decode(7),
                configuration: try row.decode(8),
                variants: try row.decode(9), country: try row.decode(10), properties: try row.decode(11))
        }
    }

    func count(_ table: PostgresQuery) async throws -> Int {
        try await postgres.query("SELECT count(*) FROM \(table)").first!.decode(0)
    }

    var space: Space {
        get async throws { try await service.spaces.space(of: appID, environment) }
    }

    /// Sends a batch of messages, adding an id to those without one.
    @discardableResult
    func batch(_ messages: String..., sentAt: Date? = nil, headers: [String: String] = [:]) async throws -> Answer {
        let sentAt = sentAt.map { #","sentAt":"\#($0.ISO8601Format(.init(includingFractionalSeconds: true)))""# } ?? ""
        return try await ingest(
            "POST", "/segment/v1/batch", #"{"batch":[\#(messages.joined(separator: ","))]\#(sentAt)}"#, headers: headers
        )
    }

    func send(_ bytes: [UInt8], headers: [String: String]) async throws -> Answer {
        try await gateway.acting(as: principal(.ingest)).send(
            "POST", "/segment/v1/batch", bytes: bytes, headers: headers)
    }
}

/// A valid message.
func track(_ event: String, user: String = "u1", id: String? = nil, at: Date? = nil, _ more: String = "") -> String {
    let id = id.map { #","messageId":"\#($0)""# } ?? ""
    let at = at.map { #","timestamp":"\#($0.ISO8601Format(.init(includingFractionalSeconds: true)))""# } ?? ""
    return #"{"type":"track","event":"\#(event)","userId":"\#(user)"\#(id)\#(at)\#(more)}"#
}
