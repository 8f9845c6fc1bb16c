import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// The answer to a question: rows of cells, sent as JSON or CSV.
struct AnswerTable: Sendable {
    enum Cell: Sendable, Equatable {
        case none
        case text(String)
        case flag(Bool)
        case count(Int)
        case real(Double)

        /// A text cell; an empty cell for nil.
        static func of(_ text: String?) -> Cell { text.map { Cell.text($0) } ?? Cell.none }
        static func of(_ count: Int?) -> Cell { count.map { Cell.count($0) } ?? Cell.none }
        static func of(_ number: Double?) -> Cell { number.map { Cell.real($0) } ?? Cell.none }

        var json: JSONValue {
            switch self {
            case .none: .null
            case .text(let text): .string(text)
            case .flag(let flag): .bool(flag)
            case .count(let count): .number(String(count))
            case .real(let number): number.isFinite ? .number("\(number)") : .null
            }
        }

        var csv: String? {
            switch self {
            case .text(let text): text
            case .none: nil
            default: json.text
            }
        }
    }

    /// Members next to the rows; only in JSON.
    var head: [JSONValue.Member]
    let columns: [String]
    var rows: [[Cell]] = []

    /// Either `{…,"count":n,"data":[{"<column>":…}]}`, or CSV with a header line.
    func response(_ format: Format) -> Response {
        switch format {
        case .json:
            let data = rows.map { row in JSONValue.object(zip(columns, row).map { .init($0, $1.json) }) }
            return .json(
                JSONValue.object(head + [.init("count", .number(String(rows.count))), .init("data", .array(data))]).text
            )
        case .csv:
            let lines = [CSVLine.text(columns.map { $0 as String? })] + rows.map { CSVLine.text($0.map(\.csv)) }
            return Response(
                status: .ok,
                headers: [
                    .contentType: "text/csv; charset=utf-8; header=present",
                    .contentDisposition: "attachment; filename=\"answer.csv\"",
                ],
                body: .whole(ByteBuffer(string: lines.joined())))
        }
    }

    enum Format: String, CaseIterable {
        case json, csv
    }
}

extension Span {
    /// The first members of every answer about a span.
    var head: [JSONValue.Member] {
        [
            .init("from", .string(from)), .init("to", .string(to)), .init("interval", .string(interval.rawValue)),
            .init("timeZone", .string(timeZone)),
            .init("asOf", asOf.map { .string($0.formatted(.iso8601)) } ?? .null),
        ]
    }
}
