import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListSignIns: Endpoint {
    static let route = Route(
        .get, "/admin/sign-ins", "listSignIns", "Counts the sign-ins of staff by month, the newest month first.",
        callers: .staff(.read, .staff),
        parameters: [
            .query("by", .oneOf("month")),
            .query(
                "from", .string.pattern(#"^20[0-9]{2}-(0[1-9]|1[0-2])$"#),
                "The first month; by default eleven months ago."),
            .query(
                "to", .string.pattern(#"^20[0-9]{2}-(0[1-9]|1[0-2])$"#), "The last month; by default the current one."),
        ],
        details: "Months are in UTC. Months without sign-ins are left out.",
        answers: [
            .answer(
                200, "The counts of each month, in total and for each staff member.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "month": .string,
                                        "count": .integer,
                                        "staff": .array(
                                            of: .object(
                                                [
                                                    "id": .string,
                                                    "userName": .string,
                                                    "count": .integer,
                                                ])),
                                    ], required: ["month", "count", "staff"])),
                        ], required: ["count", "data"])))
        ])

    let sessions: SessionStore
    let now: @Sendable () -> Date

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let now = now()
        return .page(
            try await sessions.signInsByMonth(
                from: try request.month("from") ?? Self.month(of: now, back: 11),
                to: try request.month("to") ?? Self.month(of: now)))
    }

    private static func month(of time: Date, back months: Int = 0) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month], from: time)
        let number = (parts.year ?? 0) * 12 + (parts.month ?? 1) - 1 - months
        let month = number % 12 + 1
        return "\(number / 12)-\(month < 10 ? "0" : "")\(month)"
    }
}

extension Request {
    /// - Throws: `invalid-parameter`.
    fileprivate func month(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard text.wholeMatch(of: /20[0-9]{2}-(0[1-9]|1[0-2])/) != nil else {
            throw ServiceError.unexpectedParameter(name, expected: "a month such as 2026-11", found: text)
        }
        return String(text)
    }
}
