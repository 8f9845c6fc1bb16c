/// What is known of whoever asks.
public struct FlagAttributes: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public var values: [String: FlagValue]
    /// Whether the roles of the user could not be asked for: conditions on them hold for nobody then.
    public var areRolesUnknown = false
    /// The same of what auth knows.
    public var isProfileUnknown = false
    /// Members of `user` that auth knows.
    public static let ofAuth = ["profile", "emailVerified", "anonymous"]

    public init(_ values: [String: FlagValue]) { self.values = values }

    public init(dictionaryLiteral elements: (String, FlagValue)...) {
        values = Dictionary(elements, uniquingKeysWith: { $1 })
    }

    public subscript(name: String) -> FlagValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// What is hashed to put somebody into a bucket; nil where there is nothing: no attribute, null, false, 0, "".
    public func hashValue(of name: String) -> FlagValue? {
        guard let value = values[name], value.isTruthy else { return nil }
        return value
    }
}
