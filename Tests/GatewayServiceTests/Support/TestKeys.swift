import Foundation
import MartletAPI
import MartletCore

/// Two apps with a credential of each kind. Only this type knows the text of a credential.
enum TestKeys {
    /// The identifier of the first app.
    static let appID = "alpha"
    static let internalSecret = Secret("a-secret-of-at-least-thirty-two-characters")

    static let ring = KeyRing(
        version: 1,
        apps: [
            .init(
                id: "alpha", number: 7, name: "Alpha",
                credentials: [
                    .make("k-live", .client, .live, "mk_live_A"),
                    .make("k-test", .client, .test, "mk_test_A"),
                    .make("k-old", .client, .live, "mk_live_OLD", expires: Date(timeIntervalSinceNow: -60)),
                    .make("s-1", .secret, nil, "ms_A"),
                    .make("s-2", .secret, nil, "ms_A2"),
                    .make("s-old", .secret, nil, "ms_OLD", expires: Date(timeIntervalSinceNow: -60)),
                    .make("m-1", .master, nil, "mm_A"),
                    .make("m-far", .master, nil, "mm_FAR", networks: ["203.0.113.0/24"]),
                    .make("i-1", .ingest, .live, "mi_live_A"),
                    .make("e-1", .evaluation, .test, "me_test_A"),
                ]),
            .init(
                id: "beta", number: 8, name: "Beta",
                credentials: [
                    .make("k-b", .client, .live, "mk_live_B"), .make("s-b", .secret, nil, "ms_B"),
                    .make("m-b", .master, nil, "mm_B"),
                ]),
        ])
}

extension KeyRing.Credential {
    fileprivate static func make(
        _ id: String, _ kind: CredentialKind, _ environment: AppEnvironment?, _ text: String, expires: Date? = nil,
        networks: [String]? = nil
    ) -> KeyRing.Credential {
        .init(
            id: id, kind: kind, environment: environment, sha256: Credential.hexDigest(of: text), expires: expires,
            networks: networks)
    }
}
