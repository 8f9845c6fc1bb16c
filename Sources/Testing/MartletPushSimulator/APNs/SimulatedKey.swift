public import Crypto
import Foundation

/// A signing key of an Apple developer account. Pass it to `APNsSimulator.trust(_:)`, and sign provider tokens with it.
public struct SimulatedKey: Sendable {
    public let keyID: String
    public let teamID: String
    /// The bundle ids that the key may send for; empty for all.
    public var topics: Set<String> = []
    public let privateKey = P256.Signing.PrivateKey()

    public init(keyID: String = Self.identifier(), teamID: String = Self.identifier(), topics: Set<String> = []) {
        self.keyID = keyID
        self.teamID = teamID
        self.topics = topics
    }

    /// The text of the `.p8` file.
    public var pem: String { privateKey.pemRepresentation }

    public static func identifier() -> String {
        String((0..<10).map { _ in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement() ?? "A" })
    }
}
