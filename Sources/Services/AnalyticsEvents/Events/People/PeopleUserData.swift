import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// The data of a user besides events: the traits from `identify`, and the links to devices. Erased last, because the
/// links lead to the user's other data.
struct PeopleUserData: UserDataHolder {
    let postgres: PostgresClient
    let subjects: UserSubjects

    /// Erases traits and links. A device's opt-out stays.
    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let subject = try await subjects.subject(of: request)
        let count = try await postgres.query(
            """
            WITH kept AS (
                UPDATE analytics.people SET account = 0, traits = '{}', traits_at = '-infinity'
                WHERE space = \(subject.space.id) AND person = ANY (\(subject.known)) AND person <> \(subject.account) AND opted_out IS NOT NULL RETURNING 1),
            gone AS (
                DELETE FROM analytics.people
                WHERE space = \(subject.space.id) AND person = ANY (\(subject.known)) AND (person = \(subject.account) OR opted_out IS NULL) RETURNING 1)
            SELECT * FROM kept UNION ALL SELECT * FROM gone
            """
        ).count
        return UserErasure(erased: count > 0 ? ["people": count] : [:])
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let subject = try await subjects.subject(of: request)
        let rows = try await postgres.query(
            """
            SELECT jsonb_build_object('isAccount', person = \(subject.account), 'traits', traits, 'optedOut', opted_out)::text
            FROM analytics.people WHERE space = \(subject.space.id) AND person = ANY (\(subject.known)) ORDER BY person LIMIT 1000
            """)
        var lines = ByteBuffer()
        for row in rows { lines.writeUserData("person", of: .analytics, try row.decode(0)) }
        return UserDataPortion(lines: lines)
    }
}
