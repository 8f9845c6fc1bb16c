/// A type whose values are stored in a collection.
///
/// Any `Codable` type becomes storable by naming its collection:
///
/// ```swift
/// struct Event: Storable {
///     static let collection = "Events"
///     var title: String
///     var age: Int
///     var place: GeoPoint?
/// }
/// ```
///
/// The fields are what the type encodes. Names that begin with `_` or `$` are the server's. Give optional types to
/// fields that older objects lack, and use ``Pointer`` for fields that point to other objects.
///
/// ## Key paths in queries
///
/// Queries name fields by key path, `\.age`. Swift does not say which stored field a key path reads, so MartletKit
/// finds out: it decodes the type from samples in which one field at a time differs, and checks for which of them the
/// key path reads exactly the sample's value. This respects `CodingKeys`, nested types and property wrappers, works on
/// every version of the system, and is done once per key path. A key path to a computed property is an error of the
/// query, and never reads another field.
///
/// A type can be decoded from samples if its parts can. For enums this requires `CaseIterable`; types that refuse most
/// values conform to ``Sampled``. Where neither is possible, state the names in ``fieldNames``.
public protocol Storable: Codable, Sendable {
    /// The collection's name: a letter, then at most 62 of `A-Z a-z 0-9 _ -`.
    static var collection: String { get }

    /// Names of fields that MartletKit cannot find out: `[\.sport: "sport"]`. Empty unless you need it.
    static var fieldNames: [PartialKeyPath<Self>: String] { get }
}

extension Storable {
    public static var fieldNames: [PartialKeyPath<Self>: String] { [:] }

    /// A query for all objects of the type's collection.
    public static func query() -> Query<Self> { Query() }
}

/// A type that offers values of itself, because it cannot be decoded from any text or number. See ``Storable``.
public protocol Sampled: Codable {
    /// Two values that differ.
    static var samples: (Self, Self) { get }
}
