public import Foundation

/// The list of parts that make up a version of an app definition.
public struct DefinitionManifest: Codable, Sendable, Equatable {
    public struct Part: Codable, Sendable, Equatable {
        /// `app.json`, `views/EventDetailView` …
        public let path: String
        /// SHA-256 in hexadecimal digits, which is also the part's address.
        public let sha256: String
        /// Uncompressed size in bytes.
        public let size: Int
    }

    /// The version of this format: 1.
    public let schema: Int
    public let name: String
    /// `live` or `test`; for a draft `live-preview` or `test-preview`, which only clients that request a draft accept.
    public let environment: String
    /// Only ever increases: a client that has seen a version accepts no earlier one.
    public let version: Int
    /// The version whose content this manifest publishes: `version`, or an earlier one for clients that do not get the
    /// newer one, or not yet.
    public let content: Int
    public let published: String
    /// The manifest is invalid after this time (RFC 3339), so a client notices when newer ones are withheld from it.
    /// Nil for no limit.
    public let expires: String?
    /// The minimum version of the host app; nil for any.
    public let minClient: String?
    /// Kinds and operations that the host app must support, each with its minimum version.
    public let requires: [String: Int]
    public let parts: [Part]
    public let keyId: String

    /// The parts that a client has to download.
    ///
    /// - Parameter known: Digests of the parts that the client already has.
    public func missingParts(known: Set<String>) -> [Part] {
        var seen = known
        return parts.filter { seen.insert($0.sha256).inserted }
    }
}

/// A manifest as sent: `{"manifest":{…},"signature":"…",…}`, with an Ed25519 signature (RFC 8032) in base64url over the
/// manifest's canonical form (RFC 8785).
public struct SignedManifest: Sendable {
    public enum Failure: Error, Equatable {
        /// Not a manifest, or in an unknown format.
        case unreadable
        /// Not signed by a trusted key, or modified since.
        case notSigned
        /// For another definition or environment.
        case notThisApp
        /// Older than the version that the client has.
        case older(than: Int)
        /// Expired: newer versions are withheld from the client, or its clock is wrong.
        case expired
    }

    public let manifest: DefinitionManifest
    public let signature: Data
    /// The signed bytes.
    public let message: Data

    /// - Throws: `Failure.unreadable`.
    public init(json: Data) throws(Failure) {
        guard let whole = try? LogicValue(json: json), let value = whole["manifest"],
            case .string(let signature)? = whole["signature"],
            let signature = Self.data(base64URL: signature)
        else { throw .unreadable }
        message = Data(value.json.utf8)
        guard let manifest = try? JSONDecoder().decode(DefinitionManifest.self, from: message), manifest.schema == 1
        else { throw .unreadable }
        self.manifest = manifest
        self.signature = signature
    }

    /// Returns the manifest if it is authentic and not older than the client's latest version.
    ///
    /// - Parameters:
    ///   - latest: The latest version that the client has seen; nil for none.
    ///   - now: For newly downloaded manifests. One that was accepted before it expired may still be used.
    ///   - isSigned: Whether `signature` is an Ed25519 signature of `message` by the trusted key with this id, to be
    ///     checked with CryptoKit or swift-crypto.
    /// - Throws: `Failure`.
    public func verified(
        name: String, environment: String, latest: Int?, at now: Date = Date(),
        isSigned: (_ signature: Data, _ message: Data, _ keyID: String) -> Bool
    ) throws(Failure) -> DefinitionManifest {
        guard isSigned(signature, message, manifest.keyId) else { throw .notSigned }
        guard manifest.name == name, manifest.environment == environment else { throw .notThisApp }
        if let latest, manifest.version < latest { throw .older(than: latest) }
        if let expires = manifest.expires {
            guard let end = try? Date(expires, strategy: .iso8601) else { throw .unreadable }
            guard now < end else { throw .expired }
        }
        return manifest
    }

    private static func data(base64URL text: String) -> Data? {
        let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4))
    }
}
