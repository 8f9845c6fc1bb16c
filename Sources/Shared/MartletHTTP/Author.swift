public import MartletAPI
import MartletCore

/// The author of a change to an app, as stored in records: `staff:<id>`, `key:<credential id>` or `service`.
public struct Author: Sendable, Hashable {
    public let text: String

    public init(text: String) {
        self.text = text
    }

    /// The author of changes that a service makes by itself.
    public static let service = Author(text: "service")
}

extension ServiceContext {
    /// The author of a change to the app: its own server, or a staff member with the permission in the area.
    ///
    /// - Throws: `forbidden`, and the errors of `staff(may:_:in:)`.
    public func author(may action: StaffAction, _ area: StaffArea) throws -> Author {
        let principal = try principal
        if principal.kind == .staff {
            return Author(text: "staff:" + (try staff(may: action, area, in: principal.appID)).id)
        }
        return Author(text: "key:" + (try master).credentialID)
    }
}
