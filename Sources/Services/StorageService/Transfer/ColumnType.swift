import Foundation
import MartletCore

/// The type of the cells in a CSV column.
enum ColumnType: String, Codable, Sendable, CaseIterable {
    /// A column with only empty cells and the word null.
    case null
    case boolean
    case number
    /// A typed Date.
    case date
    case string
    /// A string with a leading `'`, which prevents spreadsheets from interpreting the text as a formula (OWASP "CSV
    /// injection").
    case text
    /// Any value, as JSON.
    case json

    /// Converts the cell to JSON text; nil for an empty cell, which has no value.
    ///
    /// - Throws: `RecordFault`.
    func json(_ cell: RawRecord.Cell, column: String) throws(RecordFault) -> String? {
        if cell.text.isEmpty { return cell.isQuoted && (self == .string || self == .text) ? "\"\"" : nil }
        let trimmed = cell.text.trimmingCharacters(in: .whitespaces)
        switch self {
        case .string: return JSONValue.quote(cell.text)
        case .text: return JSONValue.quote(FormulaGuard.removed(from: cell.text))
        case .null: return trimmed == "null" ? "null" : JSONValue.quote(cell.text)
        case .json:
            guard let value = try? JSONValue(parsing: cell.text.utf8) else {
                throw RecordFault(reason: "Expected JSON, found other text.", field: column)
            }
            return value.text
        case .number, .boolean, .date:
            if trimmed == "null" { return "null" }
            switch (self, CellKind(trimmed)) {
            case (.number, .number): return trimmed
            case (.boolean, .boolean(let value)): return value ? "true" : "false"
            case (.date, .date(let date)): return #"{"__type":"Date","iso":"\#(Timestamps.text(date))"}"#
            // The cell is not quoted: the report is stored with the job, and the cell may be personal data.
            default: throw RecordFault(reason: "Expected a \(rawValue), found other text.", field: column)
            }
        }
    }
}

/// An error in a single record.
struct RecordFault: Error, Sendable, Equatable {
    var reason: String
    var field: String?
}

/// The kind of value that a cell's text looks like.
enum CellKind: Equatable {
    case empty, nullWord, number
    case boolean(Bool)
    case date(Date)
    case other

    /// - Parameter text: Without surrounding whitespace.
    init(_ text: String) {
        switch text {
        case "": self = .empty
        case "null": self = .nullWord
        case "true", "TRUE", "True": self = .boolean(true)
        case "false", "FALSE", "False": self = .boolean(false)
        default:
            guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
                self = .other
                return
            }
            if let date = Self.date(text) {
                self = .date(date)
            } else if case .number = try? JSONValue(parsing: text.utf8) {
                self = .number
            } else {
                self = .other
            }
        }
    }

    /// Parses ISO 8601: a date, or a date and time separated by `T` or a space; UTC if no zone is given.
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 10, bytes.count <= 35, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else {
            return nil
        }
        if bytes.count == 10 { return Timestamps.date(text + "T00:00:00Z") }
        guard bytes.count >= 19, bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " ") else { return nil }
        let time = String(decoding: bytes[11...], as: UTF8.self)
        let hasZone = time.hasSuffix("Z") || time.dropFirst(8).contains { $0 == "+" || $0 == "-" }
        return Timestamps.date(String(decoding: bytes[..<10], as: UTF8.self) + "T" + time + (hasZone ? "" : "Z"))
    }
}

/// The type of a column, inferred cell by cell.
struct ColumnTypeInference: Sendable {
    private(set) var filled = 0
    private var numbers = 0
    private var booleans = 0
    private var dates = 0
    private var nullWords = 0

    mutating func observe(_ cell: RawRecord.Cell) {
        guard !cell.text.isEmpty else { return }
        filled += 1
        // A column that has become text stays text.
        guard filled == 1 || max(numbers, booleans, dates) + nullWords == filled - 1 else { return }
        switch CellKind(cell.text.trimmingCharacters(in: .whitespaces)) {
        case .number: numbers += 1
        case .boolean: booleans += 1
        case .date: dates += 1
        case .nullWord: nullWords += 1
        case .empty, .other: break
        }
    }

    /// The type that fits all non-empty cells, which may also be the word null.
    var type: ColumnType {
        if filled == nullWords { return .null }
        if numbers + nullWords == filled { return .number }
        if booleans + nullWords == filled { return .boolean }
        return dates + nullWords == filled ? .date : .string
    }
}
