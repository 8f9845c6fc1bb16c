import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// What events have of a user: those of the account and of the devices that it was signed in on, what `identify` said, and who is whose.
///
/// There is no index by person: a call looks through some days, for two seconds at most.
struct EventUserData: UserDataHolder {
    static let rowsPerSlice = 500
    private static let timePerCall: Duration = .seconds(2)

    let postgres: PostgresClient
    let spaces: Spaces
    let salts: Salts

    /// A user's persons in a space.
    struct Subject {
        var space: Space
        var account: Int64
        var persons: [Int64]
    }

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let subject = try await subject(request)
        var erased = 0
        var days = try await days(from: request.after)
        let end = ContinuousClock.now + Self.timePerCall
        while let day = days.first {
            let count = try await EventDays.delete(
                "person = ANY (\(subject.persons.map { Int($0) })) AND space = \(subject.space.id)", on: day, limit: Self.rowsPerSlice, postgres)
            erased += count
            if count < Self.rowsPerSlice { days.removeFirst() }
            if let day = days.first, erased >= Self.rowsPerSlice || ContinuousClock.now > end {
                return UserErasure(erased: erased > 0 ? ["events": erased] : [:], next: day)
            }
        }
        let people = try await erasePeople(of: subject)
        return UserErasure(erased: ["events": erased, "people": people].filter { $0.value > 0 })
    }

    /// Last, as it is how the devices are found. That a device is opted out stays.
    private func erasePeople(of subject: Subject) async throws -> Int {
        try await postgres.query(
            """
            WITH kept AS (
                UPDATE analytics.people SET account = 0, traits = '{}', traits_at = '-infinity'
                WHERE space = \(subject.space.id) AND account = \(Int(subject.account)) AND opted_out IS NOT NULL RETURNING 1),
            gone AS (
                DELETE FROM analytics.people WHERE space = \(subject.space.id)
                    AND (person = \(Int(subject.account)) OR account = \(Int(subject.account)) AND opted_out IS NULL) RETURNING 1)
            SELECT * FROM kept UNION ALL SELECT * FROM gone
            """
        ).count
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let subject = try await subject(request)
        // `<day>` or `<day>/<number of events>`
        let place = request.after.map { $0.parts(between: "/") } ?? []
        var skip = place.count > 1 ? Int(place[1]) ?? 0 : 0
        var days = try await days(from: place.first)
        var lines = ByteBuffer()
        if request.after == nil { try await exportPeople(of: subject, into: &lines) }
        let end = ContinuousClock.now + Self.timePerCall
        while let day = days.first {
            let rows = try await exported(subject, on: day, skip: skip)
            for row in rows { lines.writeString(#"{"service":"analytics","kind":"event","data":\#(row)}"# + "\n") }
            skip = rows.count == Self.rowsPerSlice ? skip + rows.count : 0
            if skip == 0 { days.removeFirst() }
            if let day = days.first, lines.readableBytes > 1 << 20 || ContinuousClock.now > end {
                return UserDataPortion(lines: lines, next: skip > 0 ? "\(day)/\(skip)" : day)
            }
        }
        return UserDataPortion(lines: lines)
    }

    private func exportPeople(of subject: Subject, into lines: inout ByteBuffer) async throws {
        let rows = try await postgres.query(
            """
            SELECT jsonb_build_object('isAccount', person = \(Int(subject.account)), 'traits', traits, 'optedOut', opted_out)::text
            FROM analytics.people
            WHERE space = \(subject.space.id) AND (person = \(Int(subject.account)) OR account = \(Int(subject.account))) ORDER BY person LIMIT 1000
            """)
        for row in rows { lines.writeString(#"{"service":"analytics","kind":"person","data":\#(try row.decode(0, as: String.self))}"# + "\n") }
    }

    private func exported(_ subject: Subject, on day: String, skip: Int) async throws -> [String] {
        var statement: PostgresQuery = """
            SELECT \(EventLog.json)::text FROM analytics.events AS e
            WHERE \(EventDays.isOn(day)) AND space = \(subject.space.id) AND person = ANY (\(subject.persons.map { Int($0) }))
            ORDER BY received, key OFFSET \(skip) LIMIT \(Self.rowsPerSlice)
            """
        statement.isPrepared = false
        return try await postgres.query(statement).map { try $0.decode(0) }
    }

    private func subject(_ request: UserDataRequest) async throws -> Subject {
        guard (1...32).contains(request.app.utf8.count) else { throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app") }
        guard let user = UUID(uuidString: request.user) else { throw HTTPProblem(.invalidBody, "This is no user's id.", field: "user") }
        let space = try await spaces.space(of: request.app, request.environment)
        let account = Person.account(user.uuidString, in: space)
        let devices = try await postgres.query(
            "SELECT person FROM analytics.people WHERE space = \(space.id) AND account = \(Int(account)) ORDER BY person LIMIT 10000"
        ).map { try $0.decode(0, as: Int64.self) }
        let named = [account] + devices
        // Where nobody is to be known from day to day, those of the days whose salts are still there.
        let daily = try await salts.all().flatMap { salt in named.map { Person.visitor("\($0)", salt: salt, in: space) } }
        return Subject(space: space, account: account, persons: named + daily)
    }

    /// The days that there are events of, from one on.
    private func days(from day: String?) async throws -> [String] {
        if let day, EventTime.date(day) == nil || day.utf8.count != 10 {
            throw HTTPProblem(.invalidBody, "There is no such place to go on.", field: "after")
        }
        return try await postgres.query(
            "SELECT day::text FROM analytics.events_days() AS day WHERE day >= coalesce(\(day)::text::date, '-infinity') ORDER BY 1"
        ).map { try $0.decode(0) }
    }
}
