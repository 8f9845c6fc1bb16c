import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPush

/// The stored form of a Google service account: `{"serviceAccount": <the JSON of the key file, as an object or as
/// text>}`.
struct FCMAccountFile: CredentialContent {
    static let kind = CredentialKind.fcm

    var json: String

    init(_ request: Request) async throws {
        let fields = try await BodyFields(request, ["serviceAccount"])
        switch fields["serviceAccount"] {
        case .string(let text): json = text
        case .object(let members): json = JSONValue.object(members).text
        default:
            throw ServiceError(
                .invalidBody, "Expected the JSON of a service account key, as an object or as text.",
                field: "serviceAccount")
        }
        do {
            _ = try FCMServiceAccount(json: Secret(json))
        } catch {
            throw ServiceError(.invalidBody, error.sentence, field: "serviceAccount")
        }
    }

    var shown: JSONValue {
        guard let account else { return .object([]) }
        return .object([
            .init("projectId", .string(account.projectID)), .init("clientEmail", .string(account.clientEmail)),
        ])
    }

    var account: FCMServiceAccount? { try? FCMServiceAccount(json: Secret(json)) }
}

/// The stored form of the app's VAPID key: `{"subject","privateKey"}`. If `privateKey` is missing, a new key is
/// generated.
///
/// Subscriptions are bound to one key: after a change of key, browsers must subscribe again.
struct VAPIDKeyFile: CredentialContent {
    static let kind = CredentialKind.webpush

    var privateKey: String
    var subject: String

    init(_ request: Request) async throws {
        let fields = try await BodyFields(request, ["privateKey", "subject"])
        subject = try fields.requiredString("subject")
        privateKey = try fields.string("privateKey") ?? VAPIDKey.makePrivateKey().withValue { $0 }
        do {
            _ = try VAPIDKey(privateKey: Secret(privateKey), subject: subject)
        } catch {
            throw ServiceError(.invalidBody, error.sentence, field: error == .invalidSubject ? "subject" : "privateKey")
        }
    }

    var shown: JSONValue {
        guard let key else { return .object([]) }
        return .object([.init("subject", .string(key.subject)), .init("publicKey", .string(key.publicKey))])
    }

    var key: VAPIDKey? { try? VAPIDKey(privateKey: Secret(privateKey), subject: subject) }
}
