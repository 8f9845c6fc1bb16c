import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPush

/// An app's APNs keys, one for both environments or one for each, and the bundle ids that they may send to.
struct APNsCredential: Sendable {
    let production: APNsKey
    let sandbox: APNsKey
    let bundleIDs: [String]

    func key(for environment: APNsEnvironment) -> APNsKey { environment == .sandbox ? sandbox : production }

    /// The bundle id for sending to the device. Nil when the device names one that this credential does not cover.
    func bundleID(of device: Device) -> String? {
        guard let named = device.bundleID else { return bundleIDs.first }
        return bundleIDs.contains(named) ? named : nil
    }
}

/// The stored form of an APNs credential: `{"key","keyId","teamId","bundleIds","sandbox":{"key","keyId"}}`, where `key`
/// is the text of the `.p8` file.
struct APNsKeyFile: CredentialContent {
    static let kind = CredentialKind.apns
    private static let maximumBundleIDs = 20

    struct Part: Codable, Sendable {
        var key: String
        var keyID: String
    }

    var main: Part
    /// The key for sandbox devices. Nil: the main key serves both environments.
    var sandbox: Part?
    var teamID: String
    var bundleIDs: [String]

    init(_ request: Request) async throws {
        let fields = try await BodyFields(request, ["key", "keyId", "teamId", "bundleIds", "sandbox"])
        main = Part(key: try fields.requiredString("key"), keyID: try fields.requiredString("keyId"))
        teamID = try fields.requiredString("teamId")
        if let value = fields["sandbox"], value != .null {
            let inner = try ServiceError.inside("sandbox") { try BodyFields(value, ["key", "keyId"]) }
            sandbox = try ServiceError.inside("sandbox") {
                Part(key: try inner.requiredString("key"), keyID: try inner.requiredString("keyId"))
            }
        }
        bundleIDs = try fields.strings("bundleIds", upTo: Self.maximumBundleIDs) ?? []
        guard !bundleIDs.isEmpty, Set(bundleIDs).count == bundleIDs.count, bundleIDs.allSatisfy(BundleID.isValid) else {
            throw ServiceError(
                .invalidBody, "Expected an array of 1 to \(Self.maximumBundleIDs) distinct bundle ids.",
                field: "bundleIds")
        }
        try check(main)
        if let sandbox { try ServiceError.inside("sandbox") { try check(sandbox) } }
    }

    var shown: JSONValue {
        var members: [JSONValue.Member] = [
            .init("keyId", .string(main.keyID)), .init("teamId", .string(teamID)),
            .init("bundleIds", .array(bundleIDs.map { .string($0) })),
        ]
        if let sandbox { members.append(.init("sandbox", .object([.init("keyId", .string(sandbox.keyID))]))) }
        return .object(members)
    }

    /// The parsed keys, ready for signing. Nil only if the stored text is not a valid key, which `init` prevents.
    var credential: APNsCredential? {
        guard let production = try? key(main) else { return nil }
        guard let sandbox else {
            return APNsCredential(production: production, sandbox: production, bundleIDs: bundleIDs)
        }
        return (try? key(sandbox)).map { APNsCredential(production: production, sandbox: $0, bundleIDs: bundleIDs) }
    }

    private func key(_ part: Part) throws(PushCredentialError) -> APNsKey {
        try APNsKey(keyID: part.keyID, teamID: teamID, privateKey: Secret(part.key))
    }

    /// - Throws: `invalid-body` that names the field.
    private func check(_ part: Part) throws {
        do {
            _ = try key(part)
        } catch {
            let field =
                switch error {
                case .invalidKeyID: "keyId"
                case .invalidTeamID: "teamId"
                default: "key"
                }
            throw ServiceError(.invalidBody, error.sentence, field: field)
        }
    }
}

/// The identifier of an app at Apple.
enum BundleID {
    static func isValid(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                }
            }
    }
}

extension ServiceError {
    /// Returns the result of `body`, prefixing the field of a thrown problem with `name`.
    static func inside<Value>(_ name: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch var problem as ServiceError {
            problem.field = name + (problem.field.map { "." + $0 } ?? "")
            throw problem
        }
    }
}
