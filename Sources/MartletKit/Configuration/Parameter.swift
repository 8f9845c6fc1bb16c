/// A setting or flag with a type and a default, declared once:
///
/// ```swift
/// extension Parameter where Value == Bool {
///     static let newCheckout = Parameter("new-checkout", default: false)
/// }
///
/// if martlet.flags[.newCheckout] { … }
/// ```
public struct Parameter<Value: Decodable & Sendable>: Sendable {
    public let name: String
    public let defaultValue: Value

    public init(_ name: String, default defaultValue: Value) {
        self.name = name
        self.defaultValue = defaultValue
    }

    /// The value, or the default if it is missing, null or of another type. `"14"` is accepted as an `Int`.
    func value(of json: JSON?) -> Value {
        guard let json, !json.isNull else { return defaultValue }
        return (try? json.decoded(as: Value.self)) ?? defaultValue
    }
}
