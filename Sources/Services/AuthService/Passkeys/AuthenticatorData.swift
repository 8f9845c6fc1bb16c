import Crypto
import Foundation

/// The authenticator's statement about itself and the ceremony (WebAuthn §6.1).
struct AuthenticatorData: Sendable {
    /// A newly created credential (WebAuthn §6.5.1).
    struct NewCredential: Sendable {
        /// The model of the authenticator (AAGUID); zeros if it does not say.
        var model: UUID
        var id: Data
        /// In COSE format.
        var publicKey: Data
    }

    private static let fixedLength = 37

    let relyingPartyIDHash: Data
    private let flags: UInt8
    let signCount: Int64
    let newCredential: NewCredential?

    /// Whether a person was present, and whether they proved to be the user, such as by fingerprint or PIN.
    var isUserPresent: Bool { flags & 0x01 != 0 }
    var isUserVerified: Bool { flags & 0x04 != 0 }
    /// Whether the credential may be copied to other devices, and whether it is at present.
    private var isBackupEligible: Bool { flags & 0x08 != 0 }
    var isBackedUp: Bool { flags & 0x10 != 0 }

    /// - Throws: `PasskeyRefusal`, also for bytes beyond those that the flags announce.
    init(_ data: Data) throws(PasskeyRefusal) {
        let bytes = Array(data)
        guard bytes.count >= Self.fixedLength else { throw Self.refusal }
        relyingPartyIDHash = Data(bytes[..<32])
        flags = bytes[32]
        signCount = bytes[33..<37].reduce(0) { $0 << 8 | Int64($1) }
        var rest = bytes[Self.fixedLength...]
        newCredential = flags & 0x40 != 0 ? try Self.takeCredential(&rest) : nil
        if flags & 0x80 != 0 {
            // Extensions. None is requested, but if present they must be well-formed.
            guard case .map = try Self.take(&rest) else { throw Self.refusal }
        }
        guard rest.isEmpty else { throw Self.refusal }
        guard isBackupEligible || !isBackedUp else { throw Self.refusal }
    }

    /// - Throws: `PasskeyRefusal` unless the data is for the relying party and a person was present.
    func check(for party: RelyingParty) throws(PasskeyRefusal) {
        guard relyingPartyIDHash.elementsEqual(SHA256.hash(data: Data(party.id.utf8))) else {
            throw PasskeyRefusal("The passkey belongs to another relying party.")
        }
        guard isUserPresent else {
            throw PasskeyRefusal("The authenticator did not confirm that a person was present.")
        }
    }

    private static let refusal = PasskeyRefusal("The authenticator data is not well-formed.")

    private static func takeCredential(_ rest: inout ArraySlice<UInt8>) throws(PasskeyRefusal) -> NewCredential {
        guard rest.count >= 18 else { throw refusal }
        let model = rest.prefix(16).withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        rest = rest.dropFirst(16)
        let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
        guard PasskeyCredential.idLengths.contains(length), rest.count >= length else { throw refusal }
        let id = Data(rest.prefix(length))
        rest = rest.dropFirst(length)
        let before = rest
        _ = try take(&rest)
        return NewCredential(model: model, id: id, publicKey: Data(before.prefix(before.count - rest.count)))
    }

    private static func take(_ rest: inout ArraySlice<UInt8>) throws(PasskeyRefusal) -> CBOR {
        var reader = CBORReader(rest)
        guard let value = try? reader.take() else { throw refusal }
        rest = rest.dropFirst(reader.offset)
        return value
    }
}
