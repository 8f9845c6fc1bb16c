import Foundation

/// A filter in the server's language that the device evaluates by itself (`docs/api/queries.md`).
struct LocalFilter: Sendable {
    /// The fields of an object: those of a row of ``OfflineTable``.
    struct Row {
        let fields: [[JSON?]]
        let places: [[LocalPlace?]]
        let index: Int
    }

    typealias Test = @Sendable (Row) -> Bool
    typealias Measure = @Sendable (Row) -> Double

    /// Collects the fields and the distance that the parts of a filter use.
    private struct Parts {
        var paths: [String] = []
        var placePaths: [String] = []
        var distance: Measure?
        /// Whether a condition at the top determines the distance.
        var isAtTop = false
    }

    private static let maximumDepth = 8

    /// The fields that the filter reads. They come first in a row, in this order.
    let paths: [String]
    /// The fields that the filter reads as places.
    let placePaths: [String]
    let matches: Test
    /// The distance by which a query without an order is sorted; nil if the filter names no place that all matching
    /// objects are near.
    let distance: Measure?

    /// - Throws: ``MartletError/Code/unsupportedOffline``, which names the operator.
    init(_ filter: JSON) throws {
        var parts = Parts()
        matches = try Self.all(filter, &parts, depth: 0, isRequired: true)
        (paths, placePaths) = (parts.paths, parts.placePaths)
        distance = parts.distance
    }

    func matches(_ object: JSON) -> Bool {
        matches(
            Row(
                fields: paths.map { [object.at(path: $0)] },
                places: placePaths.map { [LocalPlace(object.at(path: $0))] }, index: 0))
    }

    private static func all(_ filter: JSON, _ parts: inout Parts, depth: Int, isRequired: Bool) throws -> Test {
        guard let members = filter.objectValue, depth < maximumDepth else { throw invalid(filter) }
        let tests = try members.map { try member($0.key, $0.value, &parts, depth: depth, isRequired: isRequired) }
        if tests.count == 1 { return tests[0] }
        return { row in tests.allSatisfy { $0(row) } }
    }

    private static func member(
        _ name: String, _ value: JSON, _ parts: inout Parts, depth: Int, isRequired: Bool
    ) throws -> Test {
        switch name {
        case "$and":
            let tests = try filters(value, &parts, depth, isRequired: isRequired)
            return { row in tests.allSatisfy { $0(row) } }
        case "$or":
            let tests = try filters(value, &parts, depth, isRequired: false)
            return { row in tests.contains { $0(row) } }
        case "$nor":
            let tests = try filters(value, &parts, depth, isRequired: false)
            return { row in !tests.contains { $0(row) } }
        default:
            guard !name.hasPrefix("$") else { throw unsupported(name) }
            let isPlace = value["$nearSphere"] != nil || value["$within"] != nil
            let test = FieldTest(
                name, column: column(name, in: &parts.paths),
                placeColumn: isPlace ? column(name, in: &parts.placePaths) : nil)
            if isRequired, let center = value["$nearSphere"] {
                try sort(by: try test.distance(from: center), &parts, isAtTop: depth == 0)
            }
            return try field(test, value)
        }
    }

    /// The position of a path in a list, to which it is added if it is missing.
    private static func column(_ path: String, in paths: inout [String]) -> Int {
        if let known = paths.firstIndex(of: path) { return known }
        paths.append(path)
        return paths.count - 1
    }

    /// As on the server, a place at the top takes precedence over those in `$and`, of which the first counts.
    private static func sort(by distance: @escaping Measure, _ parts: inout Parts, isAtTop: Bool) throws {
        guard isAtTop else {
            parts.distance = parts.distance ?? distance
            return
        }
        guard !parts.isAtTop else { throw unsupported("$nearSphere") }
        parts.isAtTop = true
        parts.distance = distance
    }

    private static func filters(
        _ list: JSON, _ parts: inout Parts, _ depth: Int, isRequired: Bool
    ) throws -> [Test] {
        guard let filters = list.arrayValue, !filters.isEmpty else { throw invalid(list) }
        return try filters.map { try all($0, &parts, depth: depth + 1, isRequired: isRequired) }
    }

    private static func field(_ field: FieldTest, _ value: JSON) throws -> Test {
        guard let operators = value.objectValue, operators.keys.contains(where: { $0.hasPrefix("$") }) else {
            return field.equals(value)
        }
        let tests = try operators.map { name, operand in try field.test(name, operand, among: operators) }
        return { row in tests.allSatisfy { $0(row) } }
    }

    static func unsupported(_ what: String) -> MartletError {
        MartletError(.unsupportedOffline, "The device cannot evaluate \(what); ask the server.", field: what)
    }

    static func invalid(_ filter: JSON) -> MartletError {
        MartletError(.invalidFilter, "Expected a filter, found \(filter.text.prefix(100)).")
    }
}

/// Conditions on one field.
struct FieldTest: Sendable {
    private let column: Int
    /// Nil unless an operator reads the field as a place.
    private let placeColumn: Int?
    private let isTime: Bool

    init(_ name: String, column: Int, placeColumn: Int?) {
        (self.column, self.placeColumn) = (column, placeColumn)
        isTime = ["created", "updated", "deleted"].contains(name)
    }

    private func value(in row: LocalFilter.Row) -> JSON? { row.fields[column][row.index] }

    private func place(in row: LocalFilter.Row) -> LocalPlace? { placeColumn.flatMap { row.places[$0][row.index] } }

    /// Times in the one form in which the server returns them.
    private func normalized(_ value: JSON) -> JSON {
        if isTime, let date = value.stringValue.flatMap(RFC3339.date) { return .string(RFC3339.text(date)) }
        guard value["__type"] == "Date", let date = value.dateValue else { return value }
        var result = value
        result["iso"] = .string(RFC3339.text(date))
        return result
    }

    func test(_ name: String, _ operand: JSON, among operators: [String: JSON]) throws -> LocalFilter.Test {
        if operand["$relativeTime"] != nil { throw LocalFilter.unsupported("$relativeTime") }
        switch name {
        case "$eq": return equals(operand)
        case "$ne": return not(equals(operand))
        case "$in": return try isAmong(operand)
        case "$nin": return not(try isAmong(operand))
        case "$gt": return try compares(operand) { $0 > 0 }
        case "$gte": return try compares(operand) { $0 >= 0 }
        case "$lt": return try compares(operand) { $0 < 0 }
        case "$lte": return try compares(operand) { $0 <= 0 }
        case "$exists":
            guard let exists = operand.boolValue else { throw LocalFilter.invalid(operand) }
            return { (value(in: $0) != nil) == exists }
        case "$all":
            let wanted = try list(operand)
            guard !wanted.contains(where: { $0["$regex"] != nil }) else {
                throw LocalFilter.unsupported("$all of $regex")
            }
            return { row in
                guard !wanted.isEmpty, let elements = value(in: row)?.arrayValue else { return false }
                return wanted.allSatisfy { elements.contains($0) }
            }
        case "$containedBy":
            let allowed = Set(try list(operand))
            return { value(in: $0)?.arrayValue?.allSatisfy { allowed.contains($0) } ?? false }
        case "$regex": return try matches(operand, options: operators["$options"])
        case "$nearSphere":
            let (distance, limit) = (try distance(from: operand), try LocalPlace.limit(operators))
            return { distance($0) <= limit }
        case "$maxDistance", "$maxDistanceInRadians", "$maxDistanceInKilometers", "$maxDistanceInMiles":
            guard operators["$nearSphere"] != nil else { throw LocalFilter.invalid(operand) }
            return { _ in true }
        case "$within":
            let box = try LocalBox(operand)
            return { place(in: $0).map(box.contains) ?? false }
        default: throw LocalFilter.unsupported(name)
        }
    }

    /// Infinite for objects without a place.
    func distance(from center: JSON) throws -> LocalFilter.Measure {
        let center = try LocalPlace(center, of: "$nearSphere")
        return { place(in: $0)?.distance(to: center) ?? .infinity }
    }

    private func not(_ test: @escaping LocalFilter.Test) -> LocalFilter.Test { { !test($0) } }

    private func list(_ operand: JSON) throws -> [JSON] {
        guard let list = operand.arrayValue else { throw LocalFilter.invalid(operand) }
        return list.map(normalized)
    }

    /// A list equals a value if one of its elements does, and a missing field equals null.
    func equals(_ wanted: JSON) -> LocalFilter.Test {
        let wanted = normalized(wanted)
        switch wanted {
        case .null: return { value(in: $0).map { $0.isNull } ?? true }
        case .number:
            let key = SortKey(wanted)
            return { Self.holds(value(in: $0)) { SortKey($0).compare(key) == 0 } }
        case .bool, .string: return { Self.holds(value(in: $0)) { $0 == wanted } }
        case .array: return { value(in: $0) == wanted }
        case .object(let members) where members["__type"] != nil: return { Self.holds(value(in: $0)) { $0 == wanted } }
        case .object: return { value(in: $0) == wanted }
        }
    }

    /// Whether the test holds for the value or, if it is a list, for one of its elements.
    private static func holds(_ value: JSON?, _ test: (JSON) -> Bool) -> Bool {
        guard let value else { return false }
        if case .array(let elements) = value { return elements.contains(where: test) }
        return test(value)
    }

    private func isAmong(_ operand: JSON) throws -> LocalFilter.Test {
        let tests = try list(operand).map(equals)
        return { row in tests.contains { $0(row) } }
    }

    /// Compares only values of the same type.
    private func compares(_ operand: JSON, _ holds: @escaping @Sendable (Int) -> Bool) throws -> LocalFilter.Test {
        let wanted = SortKey(normalized(operand))
        let isDate = operand["__type"] == "Date"
        guard [.string, .number, .bool].contains(wanted.rank) || isDate else { throw LocalFilter.invalid(operand) }
        return { row in
            guard let value = value(in: row) else { return false }
            if isDate, value["__type"] != "Date" { return false }
            let key = SortKey(value)
            return key.rank == wanted.rank && holds(key.compare(wanted))
        }
    }

    /// Supports patterns that are plain text, optionally after `^`, as made by `hasPrefix` and
    /// `containsText`.
    private func matches(_ operand: JSON, options: JSON?) throws -> LocalFilter.Test {
        guard let pattern = operand.stringValue, options == nil || options == "" else {
            throw LocalFilter.unsupported("$options")
        }
        let isPrefix = pattern.hasPrefix("^")
        guard let text = Self.plain(isPrefix ? pattern.dropFirst() : pattern[...]) else {
            throw LocalFilter.unsupported("$regex")
        }
        let bytes = Array(text.utf8)
        return { row in
            guard let value = value(in: row)?.stringValue else { return false }
            return isPrefix ? value.utf8.starts(with: bytes) : Self.contains(Array(value.utf8), bytes)
        }
    }

    /// Swift compares texts by normalized scalars, the server by bytes.
    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first else { return true }
        guard text.count >= part.count else { return false }
        return (0...(text.count - part.count)).contains { start in
            text[start] == first && text[start..<(start + part.count)].elementsEqual(part)
        }
    }

    /// The text that the pattern matches; nil if it contains more than plain text.
    private static func plain(_ pattern: Substring) -> String? {
        var text = "", isQuoted = false
        for character in pattern {
            if isQuoted {
                guard character.isASCII, !character.isLetter, !character.isNumber else { return nil }
                text.append(character)
                isQuoted = false
            } else if character == "\\" {
                isQuoted = true
            } else {
                guard !"^$.|?*+()[]{}".contains(character) else { return nil }
                text.append(character)
            }
        }
        return isQuoted ? nil : text
    }
}
