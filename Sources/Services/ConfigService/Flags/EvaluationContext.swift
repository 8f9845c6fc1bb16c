import Foundation
import MartletCore
import MartletFlags

/// Who flags are evaluated for, as the caller described them and as far as the server knows better.
struct EvaluationContext: Sendable {
    let subject: Subject
    /// What identifies the context in an entity tag: the description as it came, and who the server knows it is.
    let identity: String

    /// - Parameters:
    ///   - context: OpenFeature's evaluation context: `targetingKey` and whatever conditions look at.
    ///   - now: what conditions on `now` are compared with.
    init(_ context: JSONValue, principal: Principal, now: Date) {
        var attributes = FlagAttributes()
        if case .object(let values) = FlagValue(context) { attributes = FlagAttributes(values) }
        if attributes["id"] == nil { attributes["id"] = attributes["targetingKey"] ?? principal.userID.map(FlagValue.string) }
        attributes["now"] = .number(now.timeIntervalSince1970)
        Self.correct(&attributes, principal)
        subject = Subject(attributes)
        identity = context.text + "\n" + (principal.userID ?? "") + "\n" + principal.kind.rawValue
    }

    /// `user` and `userId` are who a token says it is. An app on a device cannot name somebody else; a server that has a key of its own says whom
    /// it asks for.
    private static func correct(_ attributes: inout FlagAttributes, _ principal: Principal) {
        if let id = principal.userID {
            attributes["user"] = .object(["id": .string(id)])
            attributes["userId"] = .string(id)
        } else if principal.kind == .client {
            attributes["user"] = nil
            attributes["userId"] = nil
        }
    }
}
