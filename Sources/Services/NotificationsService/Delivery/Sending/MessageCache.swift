import Foundation
import MartletCore
import MartletPostgres
import Synchronization

/// The properties of a message that are needed to send it. They do not change once its deliveries are planned.
struct OutgoingMessage: Sendable {
    let id: UUID
    let space: Int32
    let expires: Date
    let badge: MessageBadge?
    let isAtMostOnce: Bool
    let timing: MessageTiming
    /// The users of each audience that names any. A device is skipped if another user has signed in on it.
    let users: [Set<String>]
    let renderer: MessageRenderer
}

/// A cache of the messages being sent, each read once.
final class MessageCache: Sendable {
    /// A message has up to 256 KiB, and its renderer up to 128 payloads.
    private static let maximumCount = 128

    static let maximumUnreadable = 1_000

    private struct Entry {
        var message: OutgoingMessage
        var lastUse: Int
    }

    private struct State {
        var entries: [UUID: Entry] = [:]
        /// Unreadable messages, with the time at which each was found.
        var unreadable: [UUID: ContinuousClock.Instant] = [:]
        var uses = 0
    }

    private let postgres: PostgresClient
    private let state = Mutex(State())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Returns messages, reading those that are not cached. Messages that this version cannot read are left out.
    ///
    /// - Throws: `PostgresError`.
    func messages(_ ids: [UUID]) async throws -> [UUID: OutgoingMessage] {
        let missing = state.withLock { state in ids.filter { state.entries[$0] == nil && state.unreadable[$0] == nil } }
        if !missing.isEmpty {
            let rows = try await postgres.query(
                """
                SELECT id, space, expires, content, audience -> 'users', segment -> 'users', timing FROM notifications.messages
                WHERE id = ANY (\(missing))
                """)
            let read = try rows.map { row in (try row.decode(0, as: UUID.self), try? Self.message(row)) }
            state.withLock { state in
                for (id, message) in read {
                    if let message {
                        state.entries[id] = Entry(message: message, lastUse: state.uses)
                    } else if state.unreadable.count < Self.maximumUnreadable {
                        state.unreadable[id] = .now
                    }
                }
            }
        }
        return state.withLock { state in
            state.uses += 1
            var found: [UUID: OutgoingMessage] = [:]
            for id in ids {
                state.entries[id]?.lastUse = state.uses
                found[id] = state.entries[id]?.message
            }
            while state.entries.count > Self.maximumCount,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
            {
                state.entries[oldest] = nil
            }
            return found
        }
    }

    /// The messages that this version could not read. Another version may be able to.
    var unreadable: [UUID] { state.withLock { Array($0.unreadable.keys) } }

    /// The unreadable messages found at least `time` ago. Restarts the time for them.
    func unreadable(for time: Duration) -> [UUID] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let old = state.unreadable.filter { $0.value + time <= now }.map(\.key)
            for id in old { state.unreadable[id] = now }
            return old
        }
    }

    /// Forgets unreadable messages that are finished or deleted.
    func forget(_ ids: [UUID], except kept: [UUID]) {
        state.withLock { state in for id in Set(ids).subtracting(kept) { state.unreadable[id] = nil } }
    }

    private static func message(_ row: PostgresRow) throws -> OutgoingMessage {
        let content = try MessageContent(try JSONValue(parsing: try row.decode(3, as: PostgresJSON.self).bytes))
        let id: UUID = try row.decode(0)
        let users = try (4...5).compactMap { column -> Set<String>? in
            guard let json = try row.decode(column, as: PostgresJSON?.self),
                case .array(let names) = try JSONValue(parsing: json.bytes)
            else { return nil }
            return Set(names.compactMap { if case .string(let name) = $0 { name } else { nil } })
        }
        return OutgoingMessage(
            id: id, space: try row.decode(1), expires: try row.decode(2), badge: content.badge,
            isAtMostOnce: content.atMostOnce, timing: try MessageTiming(try row.json(6)), users: users,
            renderer: MessageRenderer(content, message: id))
    }
}
