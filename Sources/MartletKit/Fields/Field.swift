public import Foundation

/// A stored field, identified by its name, or one of the fields that every object has.
///
/// Use it where a key path cannot name the field: fields that the type does not declare, keys of a dictionary, and the
/// fields that the server adds.
///
/// ```swift
/// Event.query().where(Field<Date>.created > lastWeek && Field<Int>("scores.anna") > 10)
/// ```
public struct Field<Value: Sendable>: Sendable, Hashable {
    /// Up to 8 names joined by dots.
    public let name: String

    public init(_ name: String) { self.name = name }
}

extension Field where Value == String {
    public static var id: Field { Field("_id") }
}

extension Field where Value == Date {
    public static var created: Field { Field("created") }
    public static var updated: Field { Field("updated") }
    public static var removed: Field { Field("deleted") }
}

extension Field where Value == Int {
    public static var version: Field { Field("_version") }
}
