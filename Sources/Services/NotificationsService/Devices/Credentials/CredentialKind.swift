import Foundation
import Hummingbird
import MartletCore

/// For whom a credential is.
enum CredentialKind: String, Codable, Sendable, CaseIterable {
    case apns, fcm, webpush, smtp
}

/// A credential of one kind. As a whole it is kept sealed; what is `shown` is all that anybody gets to see of it again.
protocol CredentialContent: Codable, Sendable {
    static var kind: CredentialKind { get }

    /// What `PUT /notifications/credentials/:kind` brings, checked: that keys can be read and what belongs to them is
    /// there.
    ///
    /// - Throws: `HTTPProblem`: `invalid-json`, `invalid-body` with the field, `payload-too-large`. No secret is in it.
    init(_ request: Request) async throws

    /// An object without anything secret.
    var shown: JSONValue { get }
}

/// A credential as it is stored.
struct StoredCredential: Sendable {
    let kind: CredentialKind
    let shown: JSONValue
    let author: String
    let updated: Date
    /// Since when it is held to be no good, and why; nil: nothing is known against it.
    let broken: (since: Date, reason: String)?
}
