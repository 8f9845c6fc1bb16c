import Foundation
import MartletCore

/// What the cells of a CSV column hold.
enum ColumnType: String, Codable, Sendable, CaseIterable {
    /// Every cell is empty.
    case null
    case boolean
    case number
    /// A typed Date.
    case date
    case string
    /// A string in which a leading `'` guards against spreadsheets that take text for a formula (OWASP "CSV
    /// injection").
    case text
    /// Any value, as JSON.
    case json

    /// The cell as JSON text; nil: an empty cell, which has no value.
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
                throw RecordFault(reason: "This is not JSON.", field: column)
            }
            return value.text
        case .number, .boolean, .date:
            if trimmed == "null" { return "null" }
            switch (self, CellKind(trimmed)) {
            case (.number, .number): return trimmed
            case (.boolean, .boolean(let value)): return value ? "true" : "false"
            case (.date, .date(let date)): return #"{"__type":"Date","iso":"\#(Timestamps.text(date))"}"#
            default: throw RecordFault(reason: "This is not a \(rawValue).", field: column)
            }
        }
    }
}

/// What is wrong with one record.
struct RecordFault: Error, Sendable, Equatable {
    var reason: String
    var field: String?
}

/// What the text of a cell looks like.
enum CellKind: Equatable {
    case empty, nullWord, number
    case boolean(Bool)
    case date(Date)
    case other

    /// - Parameter text: without blanks around it.
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

    /// ISO 8601: a day, or a day and time with `T` or a blank between; UTC where no zone is given.
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

/// The type of a column, found out cell by cell.
struct ColumnGuess: Sendable {
    private(set) var filled = 0
    private var numbers = 0
    private var booleans = 0
    private var dates = 0
    private var nullWords = 0

    mutating func see(_ cell: RawRecord.Cell) {
        guard !cell.text.isEmpty else { return }
        filled += 1
        // Once it is text, it stays so.
        guard filled == 1 || max(numbers, booleans, dates) + nullWords == filled - 1 else { return }
        switch CellKind(cell.text.trimmingCharacters(in: .whitespaces)) {
        case .number: numbers += 1
        case .boolean: booleans += 1
        case .date: dates += 1
        case .nullWord: nullWords += 1
        case .empty, .other: break
        }
    }

    /// All filled cells are of the type, or the word null.
    var type: ColumnType {
        if filled == nullWords { return .null }
        if numbers + nullWords == filled { return .number }
        if booleans + nullWords == filled { return .boolean }
        return dates + nullWords == filled ? .date : .string
    }
}
