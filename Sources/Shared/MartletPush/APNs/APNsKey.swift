import Crypto
import Foundation
public import MartletCore

/// A signing key from Apple's developer account (`.p8`), with its key id and team.
public struct APNsKey: Sendable {
    public let keyID: String
    public let teamID: String
    /// Identifies the key without revealing it, even if ids and files were mixed up.
    let fingerprint: String
    private let key: P256.Signing.PrivateKey

    /// - Parameter privateKey: PEM (PKCS #8).
    public init(keyID: String, teamID: String, privateKey: Secret) throws(PushCredentialError) {
        guard Self.isIdentifier(keyID) else { throw .invalidKeyID }
        guard Self.isIdentifier(teamID) else { throw .invalidTeamID }
        guard let key = privateKey.withValue({ try? P256.Signing.PrivateKey(pemRepresentation: $0) }) else {
            throw .invalidPrivateKey(expected: "the text of the .p8 file, a P-256 key in PEM")
        }
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        fingerprint = Hexadecimal.text(SHA256.hash(data: key.publicKey.x963Representation))
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    private struct Claims: Encodable {
        var iss: String
        var iat: Int64
    }

    /// A provider token (ES256) with this time of issue.
    func token(issued: Int64) throws -> String {
        try CompactToken.sign(header: #"{"alg":"ES256","kid":"\#(keyID)"}"#, claims: Claims(iss: teamID, iat: issued)) {
            try key.signature(for: $0).rawRepresentation
        }
    }
}
