/// A part of the API to which a master key or a secret may be limited.
public enum KeyArea: String, Codable, Sendable, Hashable, CaseIterable {
    /// Objects, collections, changes, roles, hooks, imports and exports.
    case storage
    case files
    case functions
    case auth
    case config
    case analytics
    case notifications
}

/// The limit of a master key or a secret: one area, or reading in it.
///
/// Written `storage` or `storage:read`.
public struct KeyScope: Sendable, Hashable, LosslessStringConvertible {
    public var area: KeyArea
    public var isReadOnly: Bool

    public init(_ area: KeyArea, isReadOnly: Bool = false) {
        self.area = area
        self.isReadOnly = isReadOnly
    }

    /// Nil if the text is not a valid scope.
    public init?(_ text: String) {
        let isReadOnly = text.hasSuffix(Self.readingSuffix)
        guard let area = KeyArea(rawValue: isReadOnly ? String(text.dropLast(Self.readingSuffix.count)) : text) else {
            return nil
        }
        self.init(area, isReadOnly: isReadOnly)
    }

    public var description: String { area.rawValue + (isReadOnly ? Self.readingSuffix : "") }

    private static let readingSuffix = ":read"
}
