import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletLogic
import MartletTesting
import Testing

@testable import ConfigService

/// A client like the SDK: reads keys, accepts only an authentic manifest, and downloads the parts it lacks.
struct DefinitionDownload {
    let app: ConfigApp
    let name: String
    private(set) var parts: [String: String] = [:]
    private(set) var manifest: DefinitionManifest?
    /// The size of everything the last update downloaded: bodies as sent, not compressed.
    private(set) var sizeInBytes = 0

    init(_ app: ConfigApp, _ name: String) {
        self.app = app
        self.name = name
    }

    /// - Returns: The paths of the downloaded parts.
    @discardableResult
    mutating func update(_ query: String = "") async throws -> [String] {
        let answer = try await app.client("GET", "/definitions/\(name)/manifest\(query)")
        try #require(answer.status == 200, "\(answer)")
        sizeInBytes = answer.text.utf8.count
        let keys = try await Self.keys(of: app)
        let manifest = try SignedManifest(json: Data(answer.text.utf8)).verified(
            name: name, environment: app.environment.rawValue, latest: manifest?.version, isSigned: keys.isSigned)
        let missing = manifest.missingParts(known: Set(parts.keys))
        for part in missing {
            let answer = try await app.client("GET", "/definitions/\(name)/parts/\(part.sha256)")
            try #require(answer.status == 200, "\(answer)")
            let sha256 = SHA256.hash(data: Data(answer.text.utf8)).map { String(format: "%02x", $0) }.joined()
            try #require(sha256 == part.sha256 && answer.text.utf8.count == part.size)
            parts[sha256] = answer.text
            sizeInBytes += answer.text.utf8.count
        }
        self.manifest = manifest
        return missing.map(\.path)
    }

    /// A part of the newest manifest.
    func part(_ path: String) throws -> JSONValue {
        let part = try #require(manifest?.parts.first { $0.path == path })
        return try JSONValue(parsing: try #require(parts[part.sha256]).utf8)
    }

    /// An app's public keys.
    struct Keys {
        let byID: [String: Curve25519.Signing.PublicKey]

        func isSigned(_ signature: Data, _ message: Data, _ keyID: String) -> Bool {
            byID[keyID]?.isValidSignature(signature, for: message) ?? false
        }
    }

    static func keys(of app: ConfigApp) async throws -> Keys {
        let answer = try await app.client("GET", "/definitions/keys")
        guard case .array(let keys)? = answer.json?["keys"] else { return Keys(byID: [:]) }
        var byID: [String: Curve25519.Signing.PublicKey] = [:]
        for key in keys {
            guard case .string(let id)? = key["kid"], case .string(let x)? = key["x"], key["crv"] == .string("Ed25519")
            else { continue }
            byID[id] = try Curve25519.Signing.PublicKey(rawRepresentation: try #require(Base64URL.decode(x)))
        }
        return Keys(byID: byID)
    }
}
