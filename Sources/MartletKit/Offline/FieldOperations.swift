import Foundation

/// Carries out the body of a PATCH on the device, as the database does (`docs/api/objects.md`).
enum FieldOperations {
    struct NotApplicable: Error {}

    /// - Parameter isStrict: Whether operations that the device cannot carry out completely are an error. Otherwise
    ///   they leave the field as it is.
    static func apply(_ changes: JSON, to object: JSON, isStrict: Bool = false) throws -> JSON {
        var result = object
        for (name, change) in changes.objectValue ?? [:] {
            let path = name.split(separator: ".").map(String.init)[...]
            result = try updated(result, at: path) { try value(after: change, of: $0, isStrict: isStrict) }
        }
        return result
    }

    private static func updated(
        _ object: JSON, at path: ArraySlice<String>, _ change: (JSON?) throws -> JSON?
    ) throws -> JSON {
        guard let name = path.first, var members = object.objectValue else { throw NotApplicable() }
        if path.count == 1 {
            members[name] = try change(members[name])
        } else {
            // A null counts as missing. Deleting a member of a missing object does not create the object.
            let old = members[name].flatMap { $0.isNull ? JSON?.none : $0 }
            let new = try updated(old ?? [:], at: path.dropFirst(), change)
            if old != nil || new != [:] { members[name] = new }
        }
        return .object(members)
    }

    /// The field after a change; nil: the field is then missing.
    private static func value(after change: JSON, of old: JSON?, isStrict: Bool) throws -> JSON? {
        guard let operation = change["__op"] else { return change }
        let objects = change["objects"]?.arrayValue ?? []
        switch operation {
        case "Delete": return nil
        case "SetOnInsert": return old
        case "Increment": return try sum(old, change["amount"])
        case "Add": return .array(try list(old) + objects)
        case "AddUnique": return .array(objects.reduce(into: try list(old)) { if !$0.contains($1) { $0.append($1) } })
        case "Remove": return .array(try list(old).filter { !objects.contains($0) })
        default:
            if isStrict { throw NotApplicable() }
            return old
        }
    }

    private static func list(_ value: JSON?) throws -> [JSON] {
        guard let value, !value.isNull else { return [] }
        guard let list = value.arrayValue else { throw NotApplicable() }
        return list
    }

    private static func sum(_ old: JSON?, _ amount: JSON?) throws -> JSON {
        guard let amount = amount?.numberValue else { throw NotApplicable() }
        guard let old, !old.isNull else { return .number(amount) }
        guard let old = old.numberValue, let left = old.decimal, let right = amount.decimal else {
            throw NotApplicable()
        }
        return .number(JSONNumber(left + right))
    }

    /// Combines two bodies of PATCH into one; nil if they cannot be combined.
    static func merged(_ first: JSON, _ second: JSON) -> JSON? {
        var result = first.objectValue ?? [:]
        for (name, change) in second.objectValue ?? [:] {
            // The result would depend on their order.
            guard !result.keys.contains(where: { $0.hasPrefix(name + ".") || name.hasPrefix($0 + ".") }) else {
                return nil
            }
            guard let combined = combined(result[name], change) else { return nil }
            result[name] = combined
        }
        return .object(result)
    }

    private static func combined(_ first: JSON?, _ second: JSON) -> JSON? {
        guard let first, let operation = second["__op"], operation != "Delete" else {
            // A value that replaces a relation does not remove its members, so the two cannot be combined.
            if let kind = first?["__op"]?.stringValue, kind.hasSuffix("Relation") || kind == "Batch" { return nil }
            return second
        }
        guard first["__op"] == nil else {
            guard operation == "Increment", first["__op"] == "Increment",
                let sum = try? sum(first["amount"], second["amount"])
            else { return nil }
            return ["__op": "Increment", "amount": sum]
        }
        return try? value(after: second, of: first, isStrict: true)
    }
}
