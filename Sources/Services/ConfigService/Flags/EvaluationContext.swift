import Foundation
import MartletCore
import MartletFlags

/// Who flags are evaluated for, as the caller described them and as far as the server knows better.
struct EvaluationContext: Sendable {
    private(set) var attributes: FlagAttributes
    /// Who experiments give a variation to: the user whom a token or a server names, and `deviceId` or else
    /// `targetingKey` as the device.
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
        said = [context.text, deviceID ?? ""].joined(separator: "\n")
    }

    /// The same with what is known of the user, where it is looked at.
    func knowing(_ users: UserAttributes, _ needs: UserAttributes.Needs) async -> EvaluationContext {
        var context = self
        context.attributes = await users.adding(to: attributes, of: principal, needs)
        return context
    }

    var subject: Subject { Subject(attributes) }

    /// What identifies the context in an entity tag: the description as it came, and who the server knows it is.
    var identity: String {
        let unknown = (attributes.areRolesUnknown ? "r" : "") + (attributes.isProfileUnknown ? "p" : "")
        let user = principal.userID == nil ? "" : attributes["user"].map(Self.text) ?? ""
        return [said, principal.userID ?? "", principal.kind.rawValue, unknown, user].joined(separator: "\n")
    }

    /// The same in every copy, in whichever order members come.
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

    /// `user` and `userId` are who a token says it is. An app on a device cannot name somebody else, or roles; a server
    /// that has a key of its own says whom it asks for.
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
