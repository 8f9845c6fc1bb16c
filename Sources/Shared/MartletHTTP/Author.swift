public import MartletAPI
import MartletCore

/// Who manages something of an app, as records name them: `staff:<id>`, `key:<credential's id>`, or `service`.
public struct Author: Sendable, Hashable {
    public let text: String

    public init(text: String) {
        self.text = text
    }

    /// For what a service does by itself.
    public static let service = Author(text: "service")
}

extension ServiceContext {
    /// The one who manages what is of an app, when they may: the app's own server, or a staff member with the right in the area.
    ///
    /// - Throws: `forbidden`, and as `staff(may:_:in:)`.
    public func author(may action: StaffAction, _ area: StaffArea) throws -> Author {
        let principal = try principal
        if principal.kind == .staff {
            return Author(text: "staff:" + (try staff(may: action, area, in: principal.appID)).id)
        }
        return Author(text: "key:" + (try master).credentialID)
    }
}
