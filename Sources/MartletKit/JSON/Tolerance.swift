/// How far stored values may differ from what a type declares.
///
/// A field that the type does not know is always ignored when it is read, and ``Storage/save(_:ifUnchanged:)`` never
/// removes it.
public struct Tolerance: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Reads an `Int` from `"44"`, a `String` from `44`, a `Bool` from `1` or `"true"`, and a list from a single value.
    /// Nothing is rounded: `"44.5"` is not an `Int`.
    public static let convertingValues = Tolerance(rawValue: 1)
    /// Reads a missing or null field that is not optional as zero, false, or an empty string, list or dictionary.
    public static let fillingMissingFields = Tolerance(rawValue: 2)

    /// Every value has to be of the declared type.
    public static let none: Tolerance = []
    /// Converts values. A missing field is an error.
    public static let standard: Tolerance = .convertingValues
    public static let all: Tolerance = [.convertingValues, .fillingMissingFields]
}
