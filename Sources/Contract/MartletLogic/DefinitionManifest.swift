public import Foundation

/// What a version of an app definition consists of.
public struct DefinitionManifest: Codable, Sendable, Equatable {
    public struct Part: Codable, Sendable, Equatable {
        /// `app.json`, `views/EventDetailView` …
        public let path: String
        /// In hexadecimal digits: the part's address.
        public let sha256: String
        /// Not compressed.
        public let size: Int
    }

    /// Of this format: 1.
    public let schema: Int
    public let name: String
    /// `live` or `test`; `live-preview` or `test-preview` of a draft, which only those take who ask for one.
    public let environment: String
    /// Only ever grows: a client that has seen a version takes none before it.
    public let version: Int
    /// Whose published content this is: `version`, or an earlier one for whom a newer one is not meant, or not yet.
    public let content: Int
    public let published: String
    /// Until when it may be taken, in RFC 3339: who is kept from newer ones notices. Nil: for good.
    public let expires: String?
    /// The least version of the host app; nil: any.
    public let minClient: String?
    /// Kinds and operations that the host app has to have, and in which version.
    public let requires: [String: Int]
    public let parts: [Part]
    public let keyId: String

    /// The parts that a client has to download.
    ///
    /// - Parameter known: the digests of the parts that it has.
    public func missingParts(known: Set<String>) -> [Part] {
        var seen = known
        return parts.filter { seen.insert($0.sha256).inserted }
    }
}

/// A manifest as it is sent: `{"manifest":{…},"signature":"…",…}`, with an Ed25519 signature (RFC 8032) in base64url
/// over the manifest in canonical form (RFC 8785).
public struct SignedManifest: Sendable {
    public enum Failure: Error, Equatable {
        /// Not a manifest, or of a format this program does not know.
        case unreadable
        /// Signed by nobody who is trusted, or changed since.
        case notSigned
        /// Of another definition or environment.
        case notThisApp
        /// Before the one that the client has.
        case older(than: Int)
        /// Its time is over: somebody keeps newer ones back, or the client's clock is wrong.
        case expired
    }

    public let manifest: DefinitionManifest
    public let signature: Data
    /// What is signed.
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

    /// The manifest, when it is authentic and not before what the client has.
    ///
    /// - Parameters:
    ///   - latest: the version that the client has seen last; nil: none.
    ///   - now: for what is just downloaded. What was taken before its time was over may be used on.
    ///   - isSigned: whether `signature` is that of `message` by a key that is trusted and has the id: Ed25519 by
    ///     CryptoKit or swift-crypto.
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
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4))
    }
}
