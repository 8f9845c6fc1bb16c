import Foundation

/// The value of a flag, and the reason for it.
public struct FlagEvaluation<Value: Sendable>: Sendable {
    /// What determined a value. A newer server may have other reasons.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The flag has no rules.
        public static var fixed: Self { Self(rawValue: "STATIC") }
        /// A rule applies.
        public static var rule: Self { Self(rawValue: "TARGETING_MATCH") }
        /// A share of the users, or an experiment, determined the value.
        public static var share: Self { Self(rawValue: "SPLIT") }
        /// The flag is switched off.
        public static var disabled: Self { Self(rawValue: "DISABLED") }
        /// No rule applies: the flag's default.
        public static var noRule: Self { Self(rawValue: "UNKNOWN") }
        /// From the app's `Martlet.json`.
        public static var bundled: Self { Self(rawValue: "device-bundled") }
        /// The default given in the call: there is no such flag, or it has another type.
        public static var missing: Self { Self(rawValue: "device-missing") }
    }

    public let value: Value
    /// The name of the value, `on` or `red`; nil if the server did not send one.
    public let variant: String?
    public let reason: Reason
}

/// A flag with its value for one user and device.
package struct EvaluatedFlag: Sendable, Equatable {
    package let value: JSON
    package let variant: String?
    package let reason: String

    package init(value: JSON, variant: String?, reason: String) {
        self.value = value
        self.variant = variant
        self.reason = reason
    }
}

/// Evaluates flags on the device. It is in `MartletLocalFlags`, because not every app needs the code.
package protocol FlagEvaluator: Sendable {
    /// Nil if the server's value counts.
    ///
    /// - Parameter context: What the server would get.
    func evaluate(_ name: String, for context: JSON, userID: String?) -> EvaluatedFlag?

    /// Asks the server for the rules. Returns whether they have changed.
    func refresh() async throws -> Bool
}

/// All flags as the server evaluated them for one user and device.
struct FlagAnswers: Sendable {
    var flags: [String: EvaluatedFlag] = [:]
    var experiments: [String: String] = [:]
    var entityTag: String?
    /// The context of the request. The entity tag is valid only for the same context.
    var context: JSON = .null

    init() {}

    init(_ json: JSON, entityTag: String?, context: JSON) {
        flags = (json["flags"]?.objectValue ?? [:]).compactMapValues { flag in
            guard let value = flag["value"] else { return nil }
            return EvaluatedFlag(
                value: value, variant: flag["variant"]?.stringValue, reason: flag["reason"]?.stringValue ?? "UNKNOWN")
        }
        experiments = (json["experiments"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
        self.entityTag = entityTag
        self.context = context
    }
}
