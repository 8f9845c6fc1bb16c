import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// A user's events: those of the account, and those of the devices on which it was signed in.
///
/// Events have no index by person. A call scans a few days, for at most two seconds.
struct EventUserData: UserDataHolder {
    static let rowsPerSlice = 500
    private static let timePerCall: Duration = .seconds(2)

    let postgres: PostgresClient
    let subjects: UserSubjects

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let subject = try await subjects.subject(of: request)
        var erased = 0
        var days = try await days(from: request.after)
        let end = ContinuousClock.now + Self.timePerCall
        while let day = days.first {
            let count = try await EventDays.delete(
                "person = ANY (\(subject.persons)) AND space = \(subject.space.id)", on: day, limit: Self.rowsPerSlice,
                postgres)
            erased += count
            if count < Self.rowsPerSlice { days.removeFirst() }
            if let day = days.first, erased >= Self.rowsPerSlice || ContinuousClock.now > end {
                return UserErasure(erased: erased > 0 ? ["events": erased] : [:], next: day)
            }
        }
        return UserErasure(erased: erased > 0 ? ["events": erased] : [:])
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let subject = try await subjects.subject(of: request)
        // `<day>` or `<day>/<number of events>`
        let place = request.after.map { $0.parts(between: "/") } ?? []
        var skip = place.count > 1 ? Int(place[1]) ?? 0 : 0
        var days = try await days(from: place.first)
        var lines = ByteBuffer()
        let end = ContinuousClock.now + Self.timePerCall
        while let day = days.first {
            let rows = try await exported(subject, on: day, skip: skip)
            for row in rows { lines.writeUserData("event", of: .analytics, row) }
            skip = rows.count == Self.rowsPerSlice ? skip + rows.count : 0
            if skip == 0 { days.removeFirst() }
            if let day = days.first, lines.readableBytes > 1 << 20 || ContinuousClock.now > end {
                return UserDataPortion(lines: lines, next: skip > 0 ? "\(day)/\(skip)" : day)
            }
        }
        return UserDataPortion(lines: lines)
    }

    private func exported(_ subject: UserSubjects.Subject, on day: String, skip: Int) async throws -> [String] {
        var statement: PostgresQuery = """
            SELECT \(EventLog.json)::text FROM analytics.events AS e
            WHERE \(EventDays.isOn(day)) AND space = \(subject.space.id) AND person = ANY (\(subject.persons))
            ORDER BY received, key OFFSET \(skip) LIMIT \(Self.rowsPerSlice)
            """
        statement.isPrepared = false
        return try await postgres.query(statement).map { try $0.decode(0) }
    }

    /// The days that have events, starting at `day`.
    private func days(from day: String?) async throws -> [String] {
        if let day, CalendarDay(day) == nil {
            throw ServiceError(.invalidBody, "Expected a position returned by an earlier call.", field: "after")
        }
        return try await postgres.query(
            "SELECT day::text FROM analytics.events_days() AS day WHERE day >= coalesce(\(day)::text::date, '-infinity') ORDER BY 1"
        ).map { try $0.decode(0) }
    }
}
