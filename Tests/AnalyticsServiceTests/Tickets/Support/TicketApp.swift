import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsShared
@testable import AnalyticsTickets

/// Three staff members who work on the app, as presented by the gateway.
enum Colleague: String, CaseIterable {
    case ada, bob, eve

    /// In lower case, as stored.
    var id: String { "0193a000-0000-7000-8000-00000000000\(Self.allCases.firstIndex(of: self)! + 1)" }
    var author: String { JSONValue.quote("staff:" + id) }
}

extension AnalyticsOptions {
    /// Options with an auth service that knows the three staff members and nobody else.
    static var withColleagues: AnalyticsOptions {
        var options = AnalyticsOptions()
        options.staff = StaffDirectory { ids, _, _ in
            Colleague.allCases.compactMap { colleague in
                ids.first { $0 == UUID(uuidString: colleague.id) }.map {
                    .init(id: $0, userName: colleague.rawValue, email: "\(colleague.rawValue)@example.org")
                }
            }
        }
        return options
    }
}

extension AnalyticsApp {
    /// Sends a request as a staff member with all ticket rights, or only `actions`.
    @discardableResult
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, as colleague: Colleague = .ada,
        actions: Set<StaffAction> = Set(StaffAction.allCases),
        headers: [String: String] = [:]
    ) async throws -> Answer {
        let grant = StaffGrant(
            id: colleague.id, userName: colleague.rawValue, rights: StaffRights([appID: [.tickets: actions]]))
        return try await gateway.acting(as: principal(.staff, staff: grant)).send(method, path, body, headers: headers)
    }

    /// Creates a ticket and returns its number.
    @discardableResult
    func ticket(_ body: String) async throws -> Int {
        let answer = try await ask("POST", "/tickets", body)
        try #require(answer.status == 201, "\(answer)")
        return try #require(answer["number"].flatMap { Int($0) })
    }

    /// Changes a ticket whatever its revision.
    @discardableResult
    func change(_ number: Int, _ body: String, as colleague: Colleague = .ada) async throws -> Answer {
        try await ask("PATCH", "/tickets/\(number)", body, as: colleague, headers: ["if-match": "*"])
    }

    /// The numbers of the tickets on a page.
    func numbers(_ query: String, as colleague: Colleague = .ada) async throws -> [Int] {
        let answer = try await ask("GET", "/tickets" + query, as: colleague)
        try #require(answer.status == 200, "\(answer)")
        return answer.numbers("data")
    }

    /// The numbers of the tickets in a column of the board, in order.
    func column(_ status: TicketStatus) async throws -> [Int] {
        let answer = try await ask("GET", "/tickets/board?limit=200")
        try #require(answer.status == 200, "\(answer)")
        return answer.numbers("columns.\(TicketStatus.allCases.firstIndex(of: status)!).tickets")
    }

    /// Creates crash issues with these numbers, in the form that `CrashDigester` stores them.
    func makeIssues(_ numbers: ClosedRange<Int>) async throws {
        let space = try await service.spaces.space(of: appID, environment)
        try await postgres.execute(
            """
            INSERT INTO analytics.issues (space, number, title, culprit, kind, platform, level, changed, first_seen, last_seen)
            SELECT \(space.id), n, 'Fault ' || n, 'main()', 'crash', 'cocoa', 5, now(), now(), now()
            FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
            """)
    }
}

extension Answer {
    /// The `number` of each object in a list.
    func numbers(_ path: String) -> [Int] {
        let list = path.split(separator: ".").reduce(json) { $0?[$1] }
        guard case .array(let objects) = list else { return [] }
        return objects.compactMap { object in
            guard case .number(let literal) = object["number"] else { return nil }
            return Int(literal)
        }
    }
}
