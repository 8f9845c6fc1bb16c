import Foundation
import MartletCore
import MartletPostgres

/// The columns of a CSV file according to its header line: `name`, `address.city`, `age:number`.
///
/// Dotted names create nested objects. The part after the last colon is the column's type if it is a valid one. A type
/// in the request takes precedence, and a column without a type gets the one that fits all of its cells.
struct CSVColumns: Sendable {
    struct Column: Sendable {
        /// The name without the type.
        var name: String
        var type: ColumnType?
        var inference = ColumnTypeInference()

        var effectiveType: ColumnType { type ?? inference.type }
    }

    private struct Node: Sendable {
        var name: String
        /// The column from which its value is read; nil for a nested object.
        var column: Int?
        var children: [Node] = []
    }

    private(set) var columns: [Column] = []
    private var root = Node(name: "")

    /// - Parameter id: The name of the column that contains the id, instead of `_id`.
    /// - Throws: `FileFault`.
    init(header: [RawRecord.Cell], types: [String: ColumnType], id: String?) throws(FileFault) {
        var unused = Set(types.keys)
        var names: Set<FieldName> = []
        for cell in header {
            let (name, type) = Self.split(FormulaGuard.removed(from: cell.text.trimmingCharacters(in: .whitespaces)))
            guard !name.isEmpty, name.utf8.count <= TransferLimits.columnNameSizeInBytes else {
                throw FileFault(line: 1, reason: "A column has no name, or its name is too long.")
            }
            let field = id.map { name.hasSameBytes(as: $0) } == true ? SystemField.id.rawValue : name
            guard names.insert(FieldName(field)).inserted else {
                throw FileFault(line: 1, reason: "Two columns have the name \"\(field.prefix(128))\".")
            }
            try insert(field, column: columns.count)
            columns.append(Column(name: field, type: Self.systemType(field) ?? types[name] ?? type))
            unused.remove(name)
        }
        if let missing = unused.min() {
            throw FileFault(
                line: 1, reason: "A type is given for the column \"\(missing.prefix(128))\", which does not exist.")
        }
        if let id, !names.contains(FieldName(SystemField.id.rawValue)) {
            throw FileFault(line: 1, reason: "The id column \"\(id.prefix(128))\" does not exist.")
        }
    }

    var isTypeMissing: Bool { columns.contains { $0.type == nil } }

    /// Narrows down the columns' types by the cells of a line.
    mutating func observe(_ cells: [RawRecord.Cell]) {
        for (index, cell) in cells.prefix(columns.count).enumerated() { columns[index].inference.observe(cell) }
    }

    /// Converts a line to the text of a JSON object. Empty cells have no value, or null if requested.
    ///
    /// - Throws: `RecordFault`.
    func object(_ cells: [RawRecord.Cell], emptyIsNull: Bool) throws(RecordFault) -> [UInt8] {
        guard cells.count <= columns.count || cells.dropFirst(columns.count).allSatisfy({ $0.text.isEmpty }) else {
            throw RecordFault(reason: "The line has \(cells.count) cells, but the header has \(columns.count).")
        }
        return Array((try text(root, cells, emptyIsNull) ?? "{}").utf8)
    }

    private func text(_ node: Node, _ cells: [RawRecord.Cell], _ emptyIsNull: Bool) throws(RecordFault) -> String? {
        var members = ""
        for child in node.children {
            guard let value = try text(child, cells, emptyIsNull) else { continue }
            members += (members.isEmpty ? "" : ",") + JSONValue.quote(child.name) + ":" + value
        }
        let object = members.isEmpty ? nil : "{" + members + "}"
        guard let index = node.column else { return object }
        let column = columns[index]
        let cell = index < cells.count ? cells[index] : RawRecord.Cell(text: "")
        let value = try Self.value(cell, column)
        if object != nil, value != nil {
            throw RecordFault(reason: "The cell and a column nested in it both have a value.", field: column.name)
        }
        let isSystem = SystemField(rawValue: column.name) != nil
        return value ?? object ?? (emptyIsNull && node.children.isEmpty && !isSystem ? "null" : nil)
    }

    private static func value(_ cell: RawRecord.Cell, _ column: Column) throws(RecordFault) -> String? {
        switch SystemField(rawValue: column.name) {
        case .created?, .updated?, .deleted?:
            if cell.text.isEmpty { return nil }
            guard let date = CellKind.date(cell.text.trimmingCharacters(in: .whitespaces)) else {
                throw RecordFault(reason: "Expected a time, found other text.", field: column.name)
            }
            return JSONValue.quote(Timestamps.text(date))
        case .id?: return cell.text.isEmpty ? nil : JSONValue.quote(cell.text)
        default: return try column.effectiveType.json(cell, column: column.name)
        }
    }

    private static func systemType(_ name: String) -> ColumnType? {
        switch SystemField(rawValue: name) {
        case .id?, .created?, .updated?, .deleted?: .string
        case .version?: .number
        case .readers?, .writers?: .json
        case nil: nil
        }
    }

    private static func split(_ text: String) -> (name: String, type: ColumnType?) {
        guard let colon = text.lastIndex(of: ":"),
            let type = ColumnType(rawValue: String(text[text.index(after: colon)...]))
        else {
            return (text, nil)
        }
        return (String(text[..<colon]), type)
    }

    private mutating func insert(_ name: String, column: Int) throws(FileFault) {
        let parts = name.parts(between: ".")
        guard parts.count <= FieldPath.maximumParts,
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 128 && PostgresLiteral($0) != nil })
        else { throw FileFault(line: 1, reason: "\"\(name.prefix(128))\" is not a valid field name.") }
        Self.insert(parts[...], column, &root)
    }

    private static func insert(_ parts: ArraySlice<String>, _ column: Int, _ node: inout Node) {
        guard let first = parts.first else {
            node.column = column
            return
        }
        let index = node.children.firstIndex { $0.name.hasSameBytes(as: first) } ?? node.children.endIndex
        if index == node.children.endIndex { node.children.append(Node(name: first)) }
        insert(parts.dropFirst(), column, &node.children[index])
    }
}
