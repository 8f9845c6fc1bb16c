import Foundation
import Hummingbird
import MartletCore

/// The service that a credential is for.
enum CredentialKind: String, Codable, Sendable, CaseIterable {
    case apns, fcm, webpush, smtp
}

/// A credential of one kind. Stored encrypted as a whole; only `shown` is ever returned to clients.
protocol CredentialContent: Codable, Sendable {
    static var kind: CredentialKind { get }

    /// Reads and validates the body of `PUT /notifications/credentials/:kind`: keys must parse and required fields
    /// exist.
    ///
    /// - Throws: `ServiceError`: `invalid-json`, `invalid-body` that names the field, `payload-too-large`. None
    ///   contains a secret.
    init(_ request: Request) async throws

    /// The public part: an object without secrets.
    var shown: JSONValue { get }
}

/// A credential as it is stored, without its secrets.
struct StoredCredential: Sendable {
    let kind: CredentialKind
    let shown: JSONValue
    let author: String
    let updated: Date
    /// When and why the credential was found to be broken. Nil if it is usable as far as we know.
    let broken: (since: Date, reason: String)?
}
