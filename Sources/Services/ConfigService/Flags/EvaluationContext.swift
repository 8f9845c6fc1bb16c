import Foundation
import MartletCore
import MartletFlags

/// Who flags are evaluated for, as the caller described them and as far as the server knows better.
struct EvaluationContext: Sendable {
    private(set) var attributes: FlagAttributes
    /// Who experiments give a variation to: the user whom a token or a server names, and `deviceId` or else `targetingKey` as the device.
    let unit: ExperimentUnit
    private let principal: Principal
    /// The description as it came.
    private let said: String

    /// - Parameters:
    ///   - context: OpenFeature's evaluation context: `targetingKey` and whatever conditions look at.
    ///   - deviceID: what the request calls the device; it counts before the context's.
    ///   - now: what conditions on `now` are compared with.
    init(_ context: JSONValue, principal: Principal, deviceID: String? = nil, now: Date) {
        var attributes = FlagAttributes()
        if case .object(let values) = FlagValue(context) { attributes = FlagAttributes(values) }
        if attributes["id"] == nil { attributes["id"] = attributes["targetingKey"] ?? principal.userID.map(FlagValue.string) }
        attributes["now"] = .number(now.timeIntervalSince1970)
        Self.correct(&attributes, principal)
        if let deviceID { attributes["deviceId"] = .string(deviceID) }
        self.attributes = attributes
        unit = ExperimentUnit(userID: attributes.text("userId"), deviceID: attributes.text("deviceId") ?? attributes.text("targetingKey"))
        self.principal = principal
        said = [context.text, deviceID ?? ""].joined(separator: "\n")
    }

    /// The same with the user's roles, where they are looked at.
    func knowing(_ roles: RoleAttributes, if isWanted: Bool) async -> EvaluationContext {
        var context = self
        context.attributes = await roles.adding(to: attributes, of: principal, if: isWanted)
        return context
    }

    var subject: Subject { Subject(attributes) }

    /// What identifies the context in an entity tag: the description as it came, and who the server knows it is.
    var identity: String {
        [said, principal.userID ?? "", principal.kind.rawValue, attributes.areRolesUnknown ? "\t?" : attributes.roles.joined(separator: "\t")]
            .joined(separator: "\n")
    }

    /// `user` and `userId` are who a token says it is. An app on a device cannot name somebody else, or roles; a server that has a key of its own
    /// says whom it asks for.
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

extension FlagAttributes {
    fileprivate func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// Of the user, as far as they were looked at.
    fileprivate var roles: [String] {
        guard case .object(let user)? = self["user"], case .array(let roles)? = user["roles"] else { return [] }
        return roles.map { if case .string(let role) = $0 { role } else { "" } }
    }
}
