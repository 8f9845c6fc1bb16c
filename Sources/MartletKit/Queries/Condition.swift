import Foundation

/// A condition that an object must meet for a query to find it.
///
/// Comparisons of key paths are conditions, and `&&`, `||` and `!` combine them:
///
/// ```swift
/// Event.query().where(\.age >= 18 && (\.sport == .tennis || .contains(\.tags, "outdoors")))
/// ```
///
/// Comparisons match values of the same type only. `!=` also holds for objects without the field. `== nil` holds if the
/// field is missing or null. A comparison with a list field holds if one of its elements does.
public struct Condition<Value: Storable>: Sendable {
    let filter: Result<JSON, MartletError>

    /// A filter in the server's own language (`docs/api/queries.md`), for conditions that have no function here.
    public init(filter: JSON) { self.filter = .success(filter) }

    init(_ filter: Result<JSON, MartletError>) { self.filter = filter }

    /// `{field: operand}`, with the operand made once the name is known.
    init(_ name: Result<String, MartletError>, _ operand: () throws -> JSON) {
        filter = name.with(operand).map { [$0.name: $0.value] }
    }

    init<Member>(_ path: KeyPath<Value, Member>, _ operand: () throws -> JSON) {
        self.init(FieldName.of(path), operand)
    }

    private static func combined(_ operation: String, _ left: Condition, _ right: Condition) -> Condition {
        Condition(
            left.filter.flatMap { left in right.filter.map { right in [operation: .array([left, right])] } })
    }

    public static func && (left: Condition, right: Condition) -> Condition { combined("$and", left, right) }
    public static func || (left: Condition, right: Condition) -> Condition { combined("$or", left, right) }
    public static prefix func ! (condition: Condition) -> Condition {
        Condition(condition.filter.map { ["$nor": [$0]] })
    }
}

extension Condition {
    // MARK: Values

    /// The field has one of the values.
    public static func `in`<Member: Encodable>(_ path: KeyPath<Value, Member>, _ values: [Member]) -> Condition {
        Condition(path) { ["$in": try JSON(encoding: values)] }
    }

    /// The field has none of the values.
    public static func notIn<Member: Encodable>(_ path: KeyPath<Value, Member>, _ values: [Member]) -> Condition {
        Condition(path) { ["$nin": try JSON(encoding: values)] }
    }

    /// The object has the field, even if it holds null.
    public static func exists<Member>(_ path: KeyPath<Value, Member>) -> Condition {
        Condition(path) { ["$exists": true] }
    }

    // MARK: Lists

    /// The list has the element.
    public static func contains<Members: ListField>(
        _ path: KeyPath<Value, Members>, _ element: Members.ListElement
    ) -> Condition {
        Condition(path) { try JSON(encoding: element) }
    }

    /// The list has each of the elements.
    public static func containsAll<Members: ListField>(
        _ path: KeyPath<Value, Members>, _ elements: [Members.ListElement]
    ) -> Condition {
        Condition(path) { ["$all": try JSON(encoding: elements)] }
    }

    /// Each element of the list is one of these.
    public static func isSubset<Members: ListField>(
        _ path: KeyPath<Value, Members>, of elements: [Members.ListElement]
    ) -> Condition {
        Condition(path) { ["$containedBy": try JSON(encoding: elements)] }
    }

    // MARK: Texts

    /// The text begins with this. An index on the field makes it fast.
    public static func hasPrefix<Text: TextField>(_ path: KeyPath<Value, Text>, _ prefix: String) -> Condition {
        Condition(path) { ["$regex": .string("^" + prefix.map(Self.quoted).joined())] }
    }

    /// The text contains this.
    ///
    /// - Parameter ignoringCase: Whether to ignore the difference between upper and lower case.
    public static func containsText<Text: TextField>(
        _ path: KeyPath<Value, Text>, _ text: String, ignoringCase: Bool = true
    ) -> Condition {
        matches(path, text.map(quoted).joined(), options: ignoringCase ? "i" : "")
    }

    /// The text matches a regular expression (PostgreSQL's advanced regular expressions).
    ///
    /// - Parameter options: `i` ignores case, `m` lets `^` and `$` match at the start and end of lines, `s` and `x`
    ///   work as in Perl.
    public static func matches<Text: TextField>(
        _ path: KeyPath<Value, Text>, _ pattern: String, options: String = ""
    ) -> Condition {
        Condition(path) {
            options.isEmpty
                ? ["$regex": .string(pattern)] : ["$regex": .string(pattern), "$options": .string(options)]
        }
    }

    /// The text has all of these words, in any of their grammatical forms: `fresh bread -rye "a phrase"`.
    public static func hasWords<Text: TextField>(
        _ path: KeyPath<Value, Text>, _ words: String, language: String = "english"
    ) -> Condition {
        Condition(path) { ["$text": ["$search": .string(words), "$language": .string(language)]] }
    }

    /// Characters other than letters and digits might mean something in a pattern.
    private static func quoted(_ character: Character) -> String {
        character.isASCII && !character.isLetter && !character.isNumber ? "\\" + String(character) : String(character)
    }

    // MARK: Places

    /// The place is within this distance. ``Query/near(_:of:within:)`` also sorts by distance.
    public static func near<Place: PlaceField>(
        _ path: KeyPath<Value, Place>, of center: GeoPoint, within distance: Distance
    ) -> Condition {
        Condition(path) {
            [
                "$nearSphere": try JSON(encoding: center),
                "$maxDistanceInKilometers": .number(try distance.number()),
            ]
        }
    }

    /// The place lies in the box between two corners, which may cross the 180th meridian.
    public static func inBox<Place: PlaceField>(
        _ path: KeyPath<Value, Place>, southWest: GeoPoint, northEast: GeoPoint
    ) -> Condition {
        Condition(path) { ["$within": ["$box": try JSON(encoding: [southWest, northEast])]] }
    }

    /// The place lies in the area.
    public static func inside<Place: PlaceField>(_ path: KeyPath<Value, Place>, _ area: Polygon) -> Condition {
        Condition(path) { ["$geoWithin": ["$polygon": try JSON(encoding: area.corners)]] }
    }

    /// The area contains the place.
    public static func covers<Area: AreaField>(_ path: KeyPath<Value, Area>, _ point: GeoPoint) -> Condition {
        Condition(path) { ["$geoIntersects": ["$point": try JSON(encoding: point)]] }
    }

    // MARK: Other objects

    /// The field points to an object that the query finds. Only the query's conditions, order and limit are used.
    public static func matches<Field: PointerField>(
        _ path: KeyPath<Value, Field>, _ query: Query<Field.PointerTarget>
    ) -> Condition {
        subquery("$inQuery", path, query)
    }

    /// The field does not point to an object that the query finds.
    public static func matchesNone<Field: PointerField>(
        _ path: KeyPath<Value, Field>, of query: Query<Field.PointerTarget>
    ) -> Condition {
        subquery("$notInQuery", path, query)
    }

    private static func subquery<Member, Target: Storable>(
        _ operation: String, _ path: KeyPath<Value, Member>, _ query: Query<Target>
    ) -> Condition {
        Condition(path) {
            var parts: JSON = ["className": .string(Target.collection), "where": try query.filter()]
            if !query.sortOrders.isEmpty { parts["order"] = .string(query.orderParameter()) }
            if let limit = query.maximumCount { parts["limit"] = .number(JSONNumber(limit)) }
            return [operation: parts]
        }
    }

    /// The object is a member of another object's relation.
    public static func isLinked<Owner: Storable>(
        from owner: Pointer<Owner>, by path: KeyPath<Owner, Relation<Value>?>
    ) -> Condition {
        isLinked(from: owner, FieldName.of(path))
    }

    /// The object is a member of another object's relation.
    public static func isLinked<Owner: Storable>(
        from owner: Pointer<Owner>, by path: KeyPath<Owner, Relation<Value>>
    ) -> Condition {
        isLinked(from: owner, FieldName.of(path))
    }

    private static func isLinked<Owner: Storable>(
        from owner: Pointer<Owner>, _ name: Result<String, MartletError>
    ) -> Condition {
        Condition(name.map { ["$relatedTo": ["object": owner.json, "key": .string($0)]] })
    }
}

extension Distance {
    func number() throws -> JSONNumber {
        guard let number = JSONNumber(kilometers) else {
            throw MartletError(.invalidArgument, "Expected a finite distance.")
        }
        return number
    }
}

// MARK: - Types of fields

/// Text that may be missing.
public protocol TextField {}
extension String: TextField {}
extension Optional: TextField where Wrapped: TextField {}

/// A list that may be missing.
public protocol ListField<ListElement> {
    associatedtype ListElement: Encodable
}
extension Array: ListField where Element: Encodable { public typealias ListElement = Element }
extension Set: ListField where Element: Encodable { public typealias ListElement = Element }
extension Optional: ListField where Wrapped: ListField { public typealias ListElement = Wrapped.ListElement }

/// A place that may be missing.
public protocol PlaceField {}
extension GeoPoint: PlaceField {}
extension Optional: PlaceField where Wrapped: PlaceField {}

/// An area that may be missing.
public protocol AreaField {}
extension Polygon: AreaField {}
extension Optional: AreaField where Wrapped: AreaField {}

/// A pointer or a list of pointers that may be missing.
public protocol PointerField<PointerTarget> {
    associatedtype PointerTarget: Storable
}
extension Pointer: PointerField { public typealias PointerTarget = Target }
extension Array: PointerField where Element: PointerField { public typealias PointerTarget = Element.PointerTarget }
extension Optional: PointerField where Wrapped: PointerField {
    public typealias PointerTarget = Wrapped.PointerTarget
}
