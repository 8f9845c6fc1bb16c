import Foundation
import MartletCore
import MartletPostgres
import Synchronization

/// What sending needs of a message. It does not change once deliveries of it are planned.
struct MessageInHand: Sendable {
    let id: UUID
    let space: Int32
    let expires: Date
    let raisesBadge: Bool
    let isAtMostOnce: Bool
    let renderer: MessageRenderer
}

/// The messages that are being sent, read once and kept while they are used.
final class MessageShelf: Sendable {
    private static let maximumCount = 500

    private struct Entry {
        /// Nil: it cannot be read by this version.
        var message: MessageInHand?
        var lastUse: Int
    }

    private struct State {
        var entries: [UUID: Entry] = [:]
        var uses = 0
    }

    private let postgres: PostgresClient
    private let state = Mutex(State())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Reads those that are not there yet. A message that this version cannot read is missing in what it returns.
    ///
    /// - Throws: `PostgresError`.
    func messages(_ ids: [UUID]) async throws -> [UUID: MessageInHand] {
        let missing = state.withLock { state in ids.filter { state.entries[$0] == nil } }
        if !missing.isEmpty {
            let rows = try await postgres.query("SELECT id, space, expires, content FROM notifications.messages WHERE id = ANY (\(missing))")
            let read = try rows.map { row in (try row.decode(0, as: UUID.self), try? Self.message(row)) }
            state.withLock { state in for (id, message) in read { state.entries[id] = Entry(message: message, lastUse: state.uses) } }
        }
        return state.withLock { state in
            state.uses += 1
            var found: [UUID: MessageInHand] = [:]
            for id in ids {
                state.entries[id]?.lastUse = state.uses
                found[id] = state.entries[id]?.message
            }
            while state.entries.count > Self.maximumCount, let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
                state.entries[oldest] = nil
            }
            return found
        }
    }

    private static func message(_ row: PostgresRow) throws -> MessageInHand {
        let content = try MessageContent(try JSONValue(parsing: try row.decode(3, as: PostgresJSON.self).bytes))
        let id: UUID = try row.decode(0)
        return MessageInHand(
            id: id, space: try row.decode(1), expires: try row.decode(2), raisesBadge: content.badge == .increment,
            isAtMostOnce: content.atMostOnce, renderer: MessageRenderer(content, message: id))
    }
}
