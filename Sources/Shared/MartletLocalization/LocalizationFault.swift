/// What is wrong with a catalogue or with a file of translations.
public struct LocalizationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// A JSON pointer (RFC 6901) into a document, `line 7` of a file, or empty: the whole.
    public let place: String
    public let reason: String

    public init(_ place: String, _ reason: String) {
        self.place = place
        self.reason = reason
    }

    public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

/// How much of it there may be.
public enum LocalizationLimits {
    public static let keys = 20_000
    public static let languages = 200
    public static let keySizeInBytes = 1_024
    public static let valueSizeInBytes = 16 << 10
    public static let commentSizeInBytes = 4 << 10
    public static let documentSizeInBytes = 8 << 20
    /// More have no room in a document, however short they are.
    public static let texts = documentSizeInBytes / 20
    /// Of a file to be read: every language of a document, written in the wordiest of the formats.
    public static let fileSizeInBytes = 16 << 20
    /// Plural and device forms of one text in one language, and substitutions in it.
    public static let forms = 100
    /// `device` in `plural` in `device` is as deep as it gets.
    public static let variationDepth = 3
}
