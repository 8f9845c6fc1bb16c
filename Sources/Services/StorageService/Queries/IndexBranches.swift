import MartletCore
import MartletPostgres

/// Reads a list in the order of an ordered index whose leading fields must equal given values.
///
/// A field equals a value also if it has an array with an equal element, and no single range of the index contains both
/// cases. A list is therefore the union of branches: one for each combination of scalar values, which the index returns
/// in the order of the list; and one for each field that may have an array. In the order of `jsonb`, arrays with
/// elements follow all scalars and precede all objects, so an array branch reads one range of the same index. That
/// range is nearly always empty.
struct IndexBranches {
    /// A list that would need more branches is read without any: each branch takes time to plan and repeats all other
    /// conditions.
    static let maximumBranches = 12

    /// Mutually exclusive conditions that together are the filter, apart from `others`.
    let conditions: [PostgresQuery]
    /// The parts of the filter that the index does not support.
    let others: [Filter.Part]
    /// The fields that must equal the given values.
    let equal: [FieldPath]

    /// Nil if no index supports both filter and order.
    ///
    /// - Parameter indexes: The fields of the collection's ordered indexes, with `-` in front for descending order.
    init?(_ filter: Filter, order: [OrderKey], indexes: [[String]]) {
        guard !indexes.isEmpty else { return nil }
        var equalities: [(equality: Equality, part: Int)] = []
        for (index, part) in filter.parts.enumerated() {
            guard let equality = Equality(part.member),
                !equalities.contains(where: { $0.equality.path == equality.path })
            else { continue }
            equalities.append((equality, index))
        }
        let order = Self.requested(order)
        let matches = indexes.compactMap { fields -> [Int]? in
            let keys = fields.map(IndexKey.init)
            let leading = keys.map { key in equalities.firstIndex { $0.equality.path.text == key.name } }
                .prefix { $0 != nil }.compactMap(\.self)
            return stride(from: leading.count, through: 1, by: -1).first { count in
                Self.continues(keys.dropFirst(count), with: order)
            }.map { Array(leading.prefix($0)) }
        }
        guard let match = matches.max(by: { $0.count < $1.count }) else { return nil }
        let used = match.map { equalities[$0] }
        guard used.reduce(1, { $0 * $1.equality.values.count }) < Self.maximumBranches else { return nil }
        var scalars: [PostgresQuery] = ["TRUE"]
        var arrays: [PostgresQuery] = []
        for (position, (equality, part)) in used.enumerated() {
            let following = used.dropFirst(position + 1).map { filter.parts[$0.part].condition }
            for scalar in scalars {
                let parts = [scalar, equality.isArray, filter.parts[part].condition] + following
                // If the field usually has arrays, `rare` makes PostgreSQL choose the index for equality instead.
                arrays.append(parts.joined(separator: " AND ") + ListStatement.rare)
            }
            scalars = scalars.flatMap { scalar in equality.values.map { "\(scalar) AND \(equality.equals($0))" } }
        }
        guard scalars.count + arrays.count <= Self.maximumBranches else { return nil }
        let usedParts = Set(used.map(\.part))
        conditions = scalars + arrays
        equal = used.map(\.equality.path)
        others = filter.parts.enumerated().filter { !usedParts.contains($0.offset) }.map(\.element)
    }

    /// The keys of the requested order, without the final id that every order has.
    private static func requested(_ order: [OrderKey]) -> ArraySlice<OrderKey> {
        if case .system(.id)? = order.last?.target, order.last?.isDescending == false { return order.dropLast() }
        return order[...]
    }

    /// Whether rows with equal leading fields are in the requested order, forwards or backwards.
    private static func continues(_ keys: ArraySlice<IndexKey>, with order: ArraySlice<OrderKey>) -> Bool {
        guard keys.count >= order.count, zip(keys, order).allSatisfy({ $0.name == $1.target.name }) else {
            return false
        }
        // If the list is ordered by id alone, the index must have no key between the leading fields and the id.
        if order.isEmpty { return keys.isEmpty }
        return Set(zip(keys, order).map { $0.isDescending == $1.isDescending }).count == 1
    }

    private struct IndexKey {
        let name: String
        let isDescending: Bool

        init(_ field: String) {
            isDescending = field.hasPrefix("-")
            name = isDescending ? String(field.dropFirst()) : field
        }
    }
}

/// A condition that a field equals one of some values: scalars, or values with a `__type`.
private struct Equality {
    let path: FieldPath
    /// As stored, each once.
    let values: [JSONValue]

    /// Nil for any other member of a filter.
    init?(_ member: JSONValue.Member) {
        guard case .document(let path)? = try? Target(member.name) else { return nil }
        let listed: [JSONValue]
        switch member.value {
        case .object(let operators) where operators.contains { $0.name.hasPrefix("$") }:
            guard operators.count == 1, let only = operators.first else { return nil }
            switch (only.name, only.value) {
            case ("$eq", let value): listed = [value]
            case ("$in", .array(let values)): listed = values
            default: return nil
            }
        case let value: listed = [value]
        }
        var values: [JSONValue] = []
        for value in listed {
            guard Self.isScalar(value), let stored = try? Target.document(path).normalized(value) else { return nil }
            if !values.contains(stored) { values.append(stored) }
        }
        // Two spellings of one number, such as 1 and 1.0, would return the same object twice.
        guard !values.isEmpty, values.count == 1 || values.allSatisfy(Self.hasOneSpelling) else { return nil }
        self.path = path
        self.values = values
    }

    private static func isScalar(_ value: JSONValue) -> Bool {
        switch value {
        case .bool, .number, .string: true
        case .object: value["__type"] != nil
        case .null, .array: false
        }
    }

    /// Whether all numbers in the value are whole ones in their shortest form.
    private static func hasOneSpelling(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let text): Int64(text).map { String($0) == text } ?? false
        case .array(let elements): elements.allSatisfy(hasOneSpelling)
        case .object(let members): members.allSatisfy { hasOneSpelling($0.value) }
        case .null, .bool, .string: true
        }
    }

    func equals(_ value: JSONValue) -> PostgresQuery { "\(path.expression) = \(PostgresJSON(value.text))" }

    /// The range of the index with arrays that have elements.
    var isArray: PostgresQuery { "\(path.expression) > 'true'::jsonb AND \(path.expression) < '{}'::jsonb" }
}
