import Foundation
import MartletCore

/// The subscription that a link ends. Encrypted, it is the last part of the link. Keep old shapes readable.
struct UnsubscribeToken: Codable, Sendable, Equatable {
    var space: Int32
    var address: String
    var topic: String
    /// The user to whom the mail went; nil if it went to an address only.
    var user: String?
    /// The app's name, shown on the page.
    var app: String
}

/// Creates and reads unsubscribe links. The link alone is sufficient (RFC 8058 §3.1), because no one else can forge it
/// or read the address in it.
struct UnsubscribeLinks: Sendable {
    private static let label = "unsubscribe"

    let sealing: SealingKey
    let publicURL: URL

    func link(_ token: UnsubscribeToken) throws -> URL {
        publicURL.appending(
            path: "mail/unsubscribe/" + Base64URL.encode(try sealing.seal(value: token, for: Self.label)))
    }

    /// Nil when the text is not a token of this server.
    func token(_ text: String) -> UnsubscribeToken? {
        guard text.utf8.count <= 2_048 else { return nil }
        return Base64URL.decode(text).flatMap { sealing.value(in: $0, for: Self.label) }
    }
}
