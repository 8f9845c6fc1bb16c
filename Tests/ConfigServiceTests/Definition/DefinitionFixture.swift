import Foundation
import MartletCore

/// App definitions stored next to the tests.
enum DefinitionFixture {
    static let addressBook = text("address-book")
    static let kickIn = text("kick-in")
    /// A merge patch for `kickIn` that adds an image to the view of an event's details.
    static let kickInChange = text("kick-in-change")
    /// A merge patch for `kickIn` that adds a form to sign up for an event.
    static let kickInSignUp = text("kick-in-sign-up")

    static func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text.utf8) }

    /// The definition with a merge patch applied.
    static func kickIn(_ patch: String) throws -> JSONValue { try json(kickIn).merging(json(patch)) }

    private static func text(_ name: String) -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Fixtures")
        return (try? String(contentsOf: folder.appending(path: name + ".json"), encoding: .utf8)) ?? ""
    }
}
