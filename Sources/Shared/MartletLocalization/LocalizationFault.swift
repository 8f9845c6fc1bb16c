/// An error in a catalogue or in a file of translations.
public struct LocalizationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// A JSON pointer (RFC 6901) into a document, `line 7` of a file, or empty for the whole document or file.
    public let place: String
    public let reason: String

    public init(_ place: String, _ reason: String) {
        self.place = place
        self.reason = reason
    }

    public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

/// Limits on catalogues and files.
public enum LocalizationLimits {
    public static let keys = 20_000
    public static let languages = 200
    public static let keySizeInBytes = 1_024
    public static let valueSizeInBytes = 16 << 10
    public static let commentSizeInBytes = 4 << 10
    public static let documentSizeInBytes = 8 << 20
    /// The most texts that fit into a document: each takes at least 20 bytes.
    public static let texts = documentSizeInBytes / 20
    /// The limit for files to be read: enough for every language of a document in the most verbose format.
    public static let fileSizeInBytes = 16 << 20
    /// The limit for plural and device forms of one text in one language, and for its substitutions.
    public static let forms = 100
    /// The maximum nesting is `device` in `plural` in `device`.
    public static let variationDepth = 3
}
