public import MartletFlagValues

/// The known attributes of the subject.
public struct FlagAttributes: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public var values: [String: FlagValue]
    /// Whether the user's roles could not be loaded. Conditions on roles then match no one.
    public var areRolesUnknown = false
    /// Whether the user's profile could not be loaded from auth. Conditions on it then match no one.
    public var isProfileUnknown = false
    /// The members of `user` that come from auth.
    public static let namesFromAuth = ["profile", "emailVerified", "anonymous"]

    public init(_ values: [String: FlagValue]) { self.values = values }

    public init(dictionaryLiteral elements: (String, FlagValue)...) {
        values = Dictionary(elements, uniquingKeysWith: { $1 })
    }

    public subscript(name: String) -> FlagValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// The value to hash for bucketing; nil if the attribute is missing, null, false, 0 or "".
    public func hashValue(of name: String) -> FlagValue? {
        guard let value = values[name], value.isTruthy else { return nil }
        return value
    }
}
