import Foundation
import MartletCore

/// Converts objects to lines of CSV, so that importing the lines yields the same objects.
///
/// Nested objects become dotted columns. Arrays, typed values other than Date, empty objects and fields of several
/// types become cells of JSON. A missing field becomes an empty cell, an empty string becomes `""`.
struct CSVTable: Sendable {
    struct Column: Sendable {
        var path: [FieldName]
        var type: ColumnType
    }

    /// Summarizes the values seen in a field, to choose its column.
    struct Shape: Sendable {
        private(set) var kinds: Set<ColumnType> = []
        private(set) var hasObjects = false
        private(set) var needsGuard = false
        private(set) var members: [FieldName: Shape] = [:]
        private(set) var names: [FieldName] = []

        mutating func observe(_ value: JSONValue, depth: Int = 1) {
            switch value {
            case .null: kinds.insert(.null)
            case .bool: kinds.insert(.boolean)
            case .number: kinds.insert(.number)
            case .string(let text):
                kinds.insert(.string)
                needsGuard = needsGuard || FormulaGuard.isNeeded(for: text)
            case .array: kinds.insert(.json)
            case .object(let members):
                if CSVTable.date(value) != nil {
                    kinds.insert(.date)
                } else if CSVTable.isLeaf(members, depth) {
                    kinds.insert(.json)
                } else {
                    hasObjects = true
                    for member in members { observeMember(member.name, member.value, depth: depth + 1) }
                }
            }
        }

        mutating func observeMember(_ name: String, _ value: JSONValue, depth: Int) {
            let name = FieldName(name)
            if members[name] == nil {
                guard names.count <= TransferLimits.columns else { return }
                names.append(name)
                members[name] = Shape()
            }
            members[name]?.observe(value, depth: depth)
        }

        var type: ColumnType {
            switch kinds {
            case [.string]: needsGuard ? .text : .string
            case [.number], [.number, .null]: .number
            case [.boolean], [.boolean, .null]: .boolean
            case [.date], [.date, .null]: .date
            default: .json
            }
        }

        var isNested: Bool { hasObjects && kinds.isEmpty }
    }

    let columns: [Column]
    private let areHeadersTyped: Bool

    /// - Throws: `FileFault` if there are more fields than a file may have columns.
    init(_ root: Shape, areHeadersTyped: Bool) throws(FileFault) {
        var columns = Self.columns(root, [], isDeep: true)
        // With too many columns, each nested object becomes one cell of JSON.
        if columns.count > TransferLimits.columns { columns = Self.columns(root, [], isDeep: false) }
        guard columns.count <= TransferLimits.columns else {
            throw FileFault(line: 1, reason: "The objects have more than \(TransferLimits.columns) fields.")
        }
        self.columns = columns
        self.areHeadersTyped = areHeadersTyped
    }

    private static func columns(_ shape: Shape, _ path: [FieldName], isDeep: Bool) -> [Column] {
        shape.names.flatMap { name -> [Column] in
            guard let member = shape.members[name] else { return [] }
            if path.isEmpty, name.text == SystemField.deleted.rawValue { return [] }
            if member.isNested, isDeep { return columns(member, path + [name], isDeep: isDeep) }
            return [Column(path: path + [name], type: member.isNested ? .json : member.type)]
        }
    }

    var header: String {
        line(
            columns.map { column in
                let name = FormulaGuard.added(to: column.path.map(\.text).joined(separator: "."))
                let isSystem = SystemField(rawValue: name) != nil
                return Self.cell(areHeadersTyped && !isSystem ? name + ":" + column.type.rawValue : name)
            })
    }

    func line(_ object: JSONValue) -> String {
        line(
            columns.map { column in
                var value: JSONValue? = object
                for name in column.path {
                    guard case .object(let members)? = value else { return "" }
                    value = members.first { FieldName($0.name) == name }?.value
                }
                guard let value else { return "" }
                return Self.cell(value, column.type)
            })
    }

    private func line(_ cells: [String]) -> String { cells.joined(separator: ",") + "\r\n" }

    private static func cell(_ value: JSONValue, _ type: ColumnType) -> String {
        switch (type, value) {
        case (.json, _): cell(value.text)
        case (_, .string(let text)): cell(FormulaGuard.isNeeded(for: text) ? FormulaGuard.added(to: text) : text)
        case (.date, .object): cell(date(value) ?? "")
        default: cell(value.text)
        }
    }

    /// Quotes the text if RFC 4180 requires it, and also if a reader might otherwise drop spaces or an empty string, or
    /// split the text at `;` or a tab.
    private static func cell(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && !text.hasPrefix(" ") && !text.hasSuffix(" ")
            && !text.utf8.contains {
                $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n")
                    || $0 == UInt8(ascii: "\r")
                    || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "\t")
            }
        return isPlain ? text : text.enclosed(in: "\"")
    }

    /// The `iso` of a typed Date; nil for other values and for Dates with additional members.
    private static func date(_ value: JSONValue) -> String? {
        guard case .object(let members) = value, members.count == 2,
            members.contains(where: { $0.name == "__type" && $0.value == .string("Date") }),
            case .string(let iso)? = members.first(where: { $0.name == "iso" })?.value
        else { return nil }
        return iso
    }

    /// Whether an object must become a single cell, because dotted names cannot represent it.
    private static func isLeaf(_ members: [JSONValue.Member], _ depth: Int) -> Bool {
        members.isEmpty || depth >= FieldPath.maximumParts
            || members.contains {
                $0.name == "__type" || $0.name.isEmpty || $0.name.holds(".") || $0.name.utf8.count > 128
                    || $0.name.utf8.contains { $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "\\") }
                    || $0.name != $0.name.trimmingCharacters(in: .whitespaces)
            }
    }
}
