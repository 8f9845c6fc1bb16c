/// A thumbnail size, with the name by which clients request it.
public struct ThumbnailSize: Sendable, Hashable {
    /// 1 to 32 of `a-z0-9_-`, beginning with a letter.
    public let name: String
    public let width: Int
    public let height: Int
    /// Whether the picture fills the size and is cropped; otherwise it is fitted inside.
    public let isCropped: Bool

    /// Parses `name=160x160` or `name=160x160:crop`, with sides of 1 to 4,096 pixels.
    public init?(_ text: String) {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].utf8.first,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            parts[0].utf8.count <= 32, parts[0].allSatisfy({ "abcdefghijklmnopqrstuvwxyz0123456789_-".contains($0) })
        else { return nil }
        let isCropped = parts[1].hasSuffix(":crop")
        let sides = (isCropped ? parts[1].dropLast(5) : parts[1]).split(
            separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]), (1...4_096).contains(width),
            (1...4_096).contains(height)
        else { return nil }
        self.name = String(parts[0])
        self.width = width
        self.height = height
        self.isCropped = isCropped
    }

    public static let defaults = ["small=160x160", "medium=480x480", "large=1280x1280"]
}
