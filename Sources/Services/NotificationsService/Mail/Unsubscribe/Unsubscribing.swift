import Foundation
import MartletCore

/// From what somebody can unsubscribe by a link of a mail: the link's last part is this, sealed. Keep old shapes
/// readable.
struct UnsubscribeToken: Codable, Sendable, Equatable {
    var space: Int32
    var address: String
    var topic: String
    /// Whose address it was, if the mail went to a user.
    var user: String?
    /// The app's name, for the page.
    var app: String
}

/// Makes and reads the links. Who has one needs no more to show (RFC 8058 §3.1): no one else can make it, or read an
/// address out of it.
struct Unsubscribing: Sendable {
    private static let label = "unsubscribe"

    let sealing: SealingKey
    let publicURL: URL

    func link(_ token: UnsubscribeToken) throws -> URL {
        publicURL.appending(
            path: "mail/unsubscribe/" + Base64URL.encode(try sealing.seal(value: token, for: Self.label)))
    }

    /// Nil for what is no token of this server's.
    func token(_ text: String) -> UnsubscribeToken? {
        guard text.utf8.count <= 2_048 else { return nil }
        return Base64URL.decode(text).flatMap { sealing.value(in: $0, for: Self.label) }
    }
}
