import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// The names of staff members who have opened a space's tickets, for callers who may not read the list of staff.
final class TicketPeople: Sendable {
    private struct Person: Hashable {
        var space: Int32
        var id: UUID
        var name: String
    }

    private static let maximumRemembered = 10_000

    private let postgres: PostgresClient
    private let known = Mutex(Set<Person>())

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Stores a name, unless this process has stored it before.
    func record(_ staff: StaffGrant, in space: Space) async throws {
        guard let id = UUID(uuidString: staff.id) else { return }
        let person = Person(space: space.id, id: id, name: staff.userName)
        if known.withLock({ $0.contains(person) }) { return }
        try await postgres.execute(
            """
            INSERT INTO analytics.ticket_people (space, id, name) VALUES (\(space.id), \(id), \(staff.userName))
            ON CONFLICT (space, id) DO UPDATE SET name = excluded.name
            """)
        known.withLock { known in
            if known.count >= Self.maximumRemembered { known.removeAll() }
            known.insert(person)
        }
    }

    /// Objects `{"id","name"}`, sorted by name.
    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            """
            SELECT jsonb_build_object('id', id, 'name', name)::text FROM analytics.ticket_people WHERE space = \(space.id) ORDER BY name, id LIMIT 1000
            """
        ).map { try $0.decode(0) }
    }
}
