import Foundation
import MartletCore
import MartletFlags

/// The subject that flags are evaluated for: the caller's description, corrected by what the server knows.
struct EvaluationContext: Sendable {
    private(set) var attributes: FlagAttributes
    /// The unit for experiments: the user named by the token or by a server, and the device named by `deviceId` or,
    /// without it, by `targetingKey`.
    let unit: ExperimentUnit
    private let principal: Principal
    /// The caller's description as received.
    private let received: String

    /// - Parameters:
    ///   - context: OpenFeature's evaluation context: `targetingKey` and any attributes that conditions test.
    ///   - deviceID: The device named by the request; takes precedence over the context's.
    ///   - now: The time that conditions on `now` are compared with.
    init(_ context: JSONValue, principal: Principal, deviceID: String? = nil, now: Date) {
        var attributes = FlagAttributes()
        if case .object(let values) = FlagValue(context) { attributes = FlagAttributes(values) }
        if attributes["id"] == nil {
            attributes["id"] = attributes["targetingKey"] ?? principal.userID.map(FlagValue.string)
        }
        attributes["now"] = .number(now.timeIntervalSince1970)
        Self.correct(&attributes, principal)
        if let deviceID { attributes["deviceId"] = .string(deviceID) }
        self.attributes = attributes
        unit = ExperimentUnit(
            userID: attributes.text("userId"), deviceID: attributes.text("deviceId") ?? attributes.text("targetingKey"))
        self.principal = principal
        received = [context.text, deviceID ?? ""].joined(separator: "\n")
    }

    /// The same context with the attributes of the user that `needs` names.
    func addingUserAttributes(_ users: UserAttributes, _ needs: UserAttributes.Needs) async -> EvaluationContext {
        var context = self
        context.attributes = await users.adding(to: attributes, of: principal, needs)
        return context
    }

    var subject: Subject { Subject(attributes) }

    /// Identifies the context in an entity tag: the description as received and the user that the server knows.
    var identity: String {
        let unknown = (attributes.areRolesUnknown ? "r" : "") + (attributes.isProfileUnknown ? "p" : "")
        let user = principal.userID == nil ? "" : attributes["user"].map(Self.text) ?? ""
        return [received, principal.userID ?? "", principal.kind.rawValue, unknown, user].joined(separator: "\n")
    }

    /// A text that is identical on every instance, whatever the order of members.
    private static func text(_ value: FlagValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): "\(number)"
        case .string(let text): JSONValue.quote(text)
        case .array(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { JSONValue.quote($0.key) + ":" + text($0.value) }.joined(
                    separator: ",") + "}"
        }
    }

    /// Sets `user` and `userId` from the token. An app on a device cannot name another user or claim roles; a server
    /// with its own key names the user it asks for.
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
}
