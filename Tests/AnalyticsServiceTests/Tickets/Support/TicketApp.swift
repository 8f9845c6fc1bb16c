import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

/// Three people who work on the app, as the gateway tells of them.
enum Colleague: String, CaseIterable {
    case ada, bob, eve

    /// In lower case, as records have it.
    var id: String { "0193a000-0000-7000-8000-00000000000\(Self.allCases.firstIndex(of: self)! + 1)" }
    var author: String { JSONValue.quote("staff:" + id) }
}

extension AnalyticsOptions {
    /// Where auth knows the three and nobody else.
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
    /// As a staff member who may do everything with tickets, or only `actions`.
    @discardableResult
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, as colleague: Colleague = .ada,
        actions: Set<StaffAction> = Set(StaffAction.allCases),
        headers: [String: String] = [:]
    ) async throws -> Answer {
        let grant = StaffGrant(
            id: colleague.id, userName: colleague.rawValue, rights: StaffRights([appID: [.tickets: actions]]))
        return try await gateway.asking(as: principal(.staff, staff: grant)).send(method, path, body, headers: headers)
    }

    /// Makes a ticket and answers its number.
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

    /// Numbers of tickets on a page.
    func numbers(_ query: String, as colleague: Colleague = .ada) async throws -> [Int] {
        let answer = try await ask("GET", "/tickets" + query, as: colleague)
        try #require(answer.status == 200, "\(answer)")
        return answer.numbers("data")
    }

    /// Numbers of the tickets in a column of the board, as they stand.
    func column(_ status: TicketStatus) async throws -> [Int] {
        let answer = try await ask("GET", "/tickets/board?limit=200")
        try #require(answer.status == 200, "\(answer)")
        return answer.numbers("columns.\(TicketStatus.allCases.firstIndex(of: status)!).tickets")
    }

    /// Crash issues with these numbers, as the digest of crashes makes them.
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
    /// The `number`s of the objects in a list.
    func numbers(_ path: String) -> [Int] {
        let list = path.split(separator: ".").reduce(json) { $0?[$1] }
        guard case .array(let objects) = list else { return [] }
        return objects.compactMap { object in
            guard case .number(let literal) = object["number"] else { return nil }
            return Int(literal)
        }
    }
}
