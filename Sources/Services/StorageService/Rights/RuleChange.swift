import MartletAPI
import MartletCore

/// A difference between the rules of a collection before and after a change.
struct RuleChange: Sendable {
    /// Nil within a single collection.
    var collection: String?
    /// Such as `rules.find` or `hidden.price`.
    var place: String
    /// Nil where there is no rule.
    var before: JSONValue?
    var after: JSONValue?

    /// The differences between two documents of rules, sorted by place.
    static func between(_ before: JSONValue, _ after: JSONValue, of collection: String? = nil) -> [RuleChange] {
        let (old, new) = (places(of: before), places(of: after))
        return Set(old.keys).union(new.keys).sorted().compactMap { place in
            guard old[place] != new[place] else { return nil }
            return RuleChange(
                collection: collection, place: place.text, before: old[place], after: new[place])
        }
    }

    private static func places(of rules: JSONValue) -> [FieldName: JSONValue] {
        guard case .object(let parts) = rules else { return [:] }
        return parts.reduce(into: [:]) { places, part in
            guard case .object(let members) = part.value else {
                places[FieldName(part.name)] = part.value
                return
            }
            for member in members { places[FieldName("\(part.name).\(member.name)")] = member.value }
        }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = []
        if let collection { members.append(.init("collection", .string(collection))) }
        members.append(.init("place", .string(place)))
        if let before { members.append(.init("before", before)) }
        if let after { members.append(.init("after", after)) }
        return .object(members)
    }
}
