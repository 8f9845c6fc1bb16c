import Foundation
import MartletCore

/// The app definitions of the example Napton.
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
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = tests.appending(path: "../Sources/Examples/ExampleApps/Napton/\(name).json")
        return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }
}
